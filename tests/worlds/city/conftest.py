"""The city's image and a running server, once per test run; without the city's environment its tests are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from components.worlds.city.image import ENVIRONMENT, ensure
from tests.worlds.city.visitor import Server


def pytest_collection_modifyitems(items) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents and {"server", "image"} & {*item.fixturenames}:
            item.add_marker(pytest.mark.slow)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(600))
            if not (ENVIRONMENT / ".stamp").exists():
                item.add_marker(pytest.mark.skip(reason="`make city` makes the environment of the city"))


@pytest.fixture(scope="session")
def image() -> Path:
    return ensure()


@pytest.fixture(scope="session")
def server(image) -> Iterator[Server]:
    started = Server(image)
    yield started
    started.stop()
