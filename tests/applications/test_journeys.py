"""A journey through each application, by the 13 tools, and through two by element ids, checked on the server."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from pathlib import Path

import pytest

from tests.applications.element_ids import Reader, play_by_ids
from tests.applications.journey import play
from tests.applications.server import needs_apps, serve
from tests.applications.sites import applications

APPLICATIONS = dict(applications())


@pytest.mark.slow
@needs_apps
@pytest.mark.parametrize("name", APPLICATIONS)
def test_a_journey_reaches_its_state_on_the_server(name: str, tmp_path: Path) -> None:
    application = APPLICATIONS[name]
    with serve(application, tmp_path) as running:
        played = asyncio.run(play(application, running))
        print(f"{name}: {played.calls} calls, {played.waits} waits")
        application.check(running)
    assert played.answer is not None


@pytest.mark.slow
@needs_apps
def test_datasette_runs_sql_that_is_written_by_element_id(tmp_path: Path) -> None:
    async def journey(reader: Reader) -> None:
        await reader.call("write_element", "textbox", "", text="select name, tons from ships where id = 7")
        await reader.call("click_element", "button", "Run SQL")
        assert re.search(r"Vessel 007(.|\n)*359", reader.text), reader.text

    play_by_ids(APPLICATIONS["datasette"], tmp_path, "/harbour", journey)


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

    play_by_ids(APPLICATIONS["django_admin"], tmp_path, "/admin/library/book/", journey)
    with sqlite3.connect(tmp_path / "library.sqlite3") as database:
        books = database.execute("select title, language, in_print from library_book where title like '%whale%'")
        assert sorted(books) == [("The Whale Road (spoiled copy)", "it", 0), ("Åse's whale", "no", 1)]


def test_every_journey_has_at_least_fifteen_calls() -> None:
    assert {
        name: len(application.journey) for name, application in APPLICATIONS.items() if len(application.journey) < 15
    } == {}
