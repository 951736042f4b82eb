"""A journey through each application, by the 13 tools, checked on the server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from components.browser import BrowserPool
from tests.applications.journey import PARAMS, Played, Player
from tests.applications.server import PYTHON, Application, Running, serve
from tests.applications.sites import applications

APPLICATIONS = dict(applications())

needs_apps = pytest.mark.skipif(not PYTHON.exists(), reason="the applications are not installed: make apps")


async def play(application: Application, running: Running) -> Played:
    async with BrowserPool(PARAMS, text="elements") as pool, pool.session() as session:
        player = Player(session, running.origin)
        try:
            await player.start(application.start)
            for step in application.journey:
                await player.play(step)
        except Exception:
            if player.observation is not None:
                (running.folder / "last.png").write_bytes(player.observation.screenshot.data)
            raise
        return player.played


LARGEST = ("jupyterlab", "mlflow", "oscar", "prefect", "wagtail")
"""Applications that take longest to start."""


@pytest.mark.slow
@needs_apps
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.exhaustive) if name in LARGEST else name for name in APPLICATIONS],
)
def test_a_journey_reaches_its_state_on_the_server(name: str, tmp_path: Path) -> None:
    application = APPLICATIONS[name]
    with serve(application, tmp_path) as running:
        played = asyncio.run(play(application, running))
        print(f"{name}: {played.calls} calls, {played.waits} waits")
        application.check(running)
    assert played.answer is not None


def test_every_journey_has_at_least_fifteen_calls() -> None:
    assert {
        name: len(application.journey) for name, application in APPLICATIONS.items() if len(application.journey) < 15
    } == {}
