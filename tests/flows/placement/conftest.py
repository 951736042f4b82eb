from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import buckets


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a folder in an S3 bucket, which this process and its children can reach."""
    with buckets.bucket() as (address, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield address
