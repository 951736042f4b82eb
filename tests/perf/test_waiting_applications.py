"""Real single-page applications are observed when they are done."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from perf.waiting_applications import ROUTES, drive
from tests.applications.server import PYTHON, serve
from tests.applications.sites import applications

APPLICATIONS = dict(applications())


def early(name: str, folder: Path) -> set[str]:
    folder.mkdir()
    with serve(APPLICATIONS[name], folder) as running:
        outcome = asyncio.run(drive(ROUTES[name], APPLICATIONS[name].start, running.origin, navigations=8))
    return {navigation.split(":")[0] for navigation in outcome.early}


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.exists(), reason="the applications are not installed: make apps")
def test_first_visits_of_pages_are_observed_when_they_are_done(tmp_path: Path) -> None:
    """Prefect loads the code of a page at its first visit. A fault of the rule comes back in a second run; a machine
    that stops the browser for half a second does not."""
    first = early("prefect", tmp_path / "first")
    assert first & (early("prefect", tmp_path / "second") if first else set()) == set()


def test_every_route_is_of_an_application() -> None:
    assert ROUTES.keys() <= APPLICATIONS.keys()
