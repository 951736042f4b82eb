"""A journey through each application, by the 13 tools, and through two by element ids, checked on the server."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from components.browser import ALL_TOOLS, BrowserPool, Session, check_call
from components.records import Task
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


class Reader:
    """Reads the accessibility tree and names elements by the ids that it shows."""

    def __init__(self, session: Session) -> None:
        self.text = ""
        self._session = session

    async def start(self, url: str) -> None:
        """Open a page."""
        task = Task(task_id="ids", intent="ids", start_url=url, website="application", source="application")
        self.text = (await self._session.start(task)).text or ""

    async def call(self, tool: str, role: str, name: str, **arguments: str) -> None:
        """Run a call on the first element with a role and a name, and scroll down to it; a name may be empty."""
        line = rf"\[(\d+)\] {role}" + (f' "{re.escape(name)}"' if name else r"(?! \")")
        while not (match := re.search(line, self.text)):
            assert "(more below:" in self.text, f'no {role} "{name}" in\n{self.text}'
            await self._step("scroll", {"direction": "down"})
        await self._step(tool, {"element": match[1], **arguments})

    async def _step(self, tool: str, arguments: dict[str, str]) -> None:
        result = await self._session.step([check_call(tool, arguments, ALL_TOOLS)])
        self.text = result.observation.text or ""
        assert result.feedback[0].startswith("Succeed:"), f"{result.feedback[0]}\n{self.text}"


def play_by_ids(name: str, folder: Path, path: str, journey: Callable[[Reader], Awaitable[None]]) -> None:
    """Play a journey by element ids through an application."""

    async def visit(url: str) -> None:
        async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
            reader = Reader(session)
            await reader.start(url)
            await journey(reader)

    with serve(APPLICATIONS[name], folder) as running:
        asyncio.run(visit(running.origin + path))


@pytest.mark.slow
@needs_apps
def test_datasette_runs_sql_that_is_written_by_element_id(tmp_path: Path) -> None:
    async def journey(reader: Reader) -> None:
        await reader.call("write_element", "textbox", "", text="select name, tons from ships where id = 7")
        await reader.call("click_element", "button", "Run SQL")
        assert re.search(r"Vessel 007(.|\n)*359", reader.text), reader.text

    play_by_ids("datasette", tmp_path, "/harbour", journey)


@pytest.mark.slow
@needs_apps
def test_django_admin_saves_a_book_that_is_edited_by_element_ids(tmp_path: Path) -> None:
    async def journey(reader: Reader) -> None:
        await reader.call("write_element", "textbox", "Username:", text="librarian")
        await reader.call("write_element", "textbox", "Password:", text="shelves")
        await reader.call("click_element", "button", "Log in")
        await reader.call("click_element", "link", "The Whale Road")
        await reader.call("write_element", "textbox", "Title:", text="Åse's whale")
        await reader.call("select_option", "combobox", "Language:", option="Norwegian")
        await reader.call("click_element", "checkbox", "In print")
        await reader.call("click_element", "button", "Save")
        assert "was changed successfully" in reader.text

    play_by_ids("django_admin", tmp_path, "/admin/library/book/", journey)
    with sqlite3.connect(tmp_path / "library.sqlite3") as database:
        books = database.execute("select title, language, in_print from library_book where title like '%whale%'")
        assert sorted(books) == [("The Whale Road (spoiled copy)", "it", 0), ("Åse's whale", "no", 1)]


def test_every_journey_has_at_least_fifteen_calls() -> None:
    assert {
        name: len(application.journey) for name, application in APPLICATIONS.items() if len(application.journey) < 15
    } == {}
