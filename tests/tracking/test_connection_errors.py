"""What is said when MLflow cannot be reached: a sentence without the password that the address may have."""

from __future__ import annotations

import traceback

import pytest

from components.params import TrackingParams
from components.tracking.backend import TrackingError, connect


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://waymark:wonderland@127.0.0.1:9", "the MLflow server is out of reach: start it"),
        ("postgress://waymark:wonderland@db.invalid/mlflow", "unsupported URI"),
    ],
)
def test_a_store_out_of_reach_is_named_without_its_password(monkeypatch, tmp_path, address, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(TrackingError, match=said) as raised:
        connect(TrackingParams(tracking_uri=address))
    assert "wonderland" not in "".join(traceback.format_exception(raised.value))
    assert "waymark:***@" in str(raised.value)
