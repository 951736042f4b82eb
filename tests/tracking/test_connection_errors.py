"""What is said when MLflow cannot be reached: a sentence without the password that the address may have."""

from __future__ import annotations

import http.server
import threading
import traceback

import pytest
from mlflow.exceptions import MlflowException

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


class Failing(http.server.BaseHTTPRequestHandler):
    """A server that answers each request with an error page, as a proxy may."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


def test_a_server_that_answers_with_an_error_page_is_in_reach(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    server = http.server.HTTPServer(("127.0.0.1", 0), Failing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with pytest.raises(MlflowException, match="failed with error code 404"):
        connect(TrackingParams(tracking_uri=f"http://127.0.0.1:{server.server_port}"))
    server.shutdown()
    server.server_close()
