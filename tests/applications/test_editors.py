"""Editors as applications use them: ProseMirror, EasyMDE and Monaco, written into by points and by element ids.

Each is replaced, cleared, written with several lines and added to; the text that the server keeps is compared.
"""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tests.applications.element_ids import Reader, play_by_ids
from tests.applications.journey import PARAMS, play
from tests.applications.server import needs_apps, serve
from tests.applications.sites import django_admin, streamlit
from tests.applications.steps import Line, Step, click, done, press, scroll_to, write

pytestmark = [pytest.mark.slow, needs_apps]

ASK = PARAMS.model_copy(update={"dialogs": "ask"})
"""The agent answers `confirm()` and `prompt()`."""
BOOK = "/admin/library/book/41/change/"
REVIEW, REVIEW_END = "He sails (north).\nHe sinks.", " It is sad."
KEPT_REVIEW = "<p>He sails (north).</p><p>He sinks. It is sad.</p>"
NOTES, NOTES_END = '# Shelf "N\n\n- row [2]\n    - left', "\n- row {3"
SETTINGS, SETTINGS_END = "a: [1, 2]\nb:\n  - c", '\nd:\n    e: "f\n    g: (h'


def rewritten(first: str, text: str, end: str) -> list[Step]:
    """Writes a text into the focused editor, replaces and clears it, writes the text that stays, and adds to it."""
    return [write(first), write("other words"), write(""), write(text), write(end, clear=False)]


async def rewrite(reader: Reader, name: str, text: str, end: str, after: str = "") -> None:
    """The same by the id of the first field with a name behind a text."""
    for words in ("first\nwords", "other words", "", text):
        await reader.call("write_element", "textbox", name, after=after, text=words)
    await reader.call("write_element", "textbox", name, after=after, text=end, clear=False)


def kept_book(folder: Path) -> tuple[str, str, int]:
    """Review, notes and state of the edited book, with the line breaks of Unix."""
    with sqlite3.connect(folder / "library.sqlite3") as database:
        row = database.execute("select review, notes, in_print from library_book where id = 41").fetchone()
    return row[0], row[1].replace("\r\n", "\n"), row[2]


def test_prosemirror_easymde_and_their_dialogs_take_text_by_points(tmp_path: Path) -> None:
    book = Line("checkbox", "Select this object for an action - The Whale Road")
    journey = (
        click("field", "Username:"),
        write("librarian"),
        click("field", "Password:"),
        write("shelves"),
        press("Enter", feedback="navigated to"),
        scroll_to(Line("button", "Create Link")),
        click("field", "Review:"),
        *rewritten("first\nwords", REVIEW, REVIEW_END),
        click("field", "Notes:"),
        *rewritten("first\nwords", NOTES, NOTES_END),
        click("button", "Create Link", feedback=r'A dialog \(prompt\) asks "URL for the link'),
        write("https://shelves.test/n", feedback="answered the dialog with"),
        scroll_to(Line("button", "Save")),
        click("button", "Save", feedback="navigated to"),
        click(book.role, book.name),
        click("checkbox", "", beside=book),
        click("select", "Action:"),
        write("Delete selected books"),
        click("button", "Go", feedback=r'A dialog \(confirm\) asks "You have unsaved changes'),
        press("Escape", feedback="answered the dialog with Cancel", is_visible=False),
        scroll_to(Line("button", "Save")),
        click("button", "Save", feedback=r'A dialog \(confirm\) asks "You have selected an action'),
        press("Enter", feedback="answered the dialog with OK.*navigated to"),
        done("The review, the notes and the state of the book are kept."),
    )
    application = replace(django_admin.APPLICATION, start=BOOK, journey=journey)
    with serve(application, tmp_path) as running:
        asyncio.run(play(application, running, ASK))
    assert kept_book(tmp_path) == (KEPT_REVIEW, f"{NOTES}{NOTES_END}[](https://shelves.test/n)", 1)


def test_prosemirror_and_easymde_take_text_by_element_ids(tmp_path: Path) -> None:
    async def journey(reader: Reader) -> None:
        await reader.call("write_element", "textbox", "Username:", text="librarian")
        await reader.call("write_element", "textbox", "Password:", text="shelves", submit=True)
        await rewrite(reader, "", REVIEW, REVIEW_END, after='text "Review:"')
        await rewrite(reader, "", NOTES, NOTES_END, after='text "Notes:"')
        await reader.call("click_element", "button", "Save")
        assert "was changed successfully" in reader.text

    play_by_ids(django_admin.APPLICATION, tmp_path, BOOK, journey)
    assert kept_book(tmp_path) == (KEPT_REVIEW, NOTES + NOTES_END, 0)


def test_monaco_keeps_the_exact_text_that_is_written_by_points(tmp_path: Path) -> None:
    journey = (
        click("field", "Keeper"),
        write("signe"),
        click("field", "Password"),
        write("lamp"),
        click("button", "Come in"),
        click("radio", "Lamp", sees=streamlit.EDITOR),
        click(streamlit.EDITOR.role, streamlit.EDITOR.name),
        *rewritten("first: {\nwords", SETTINGS, SETTINGS_END),
        click("button", "Keep the settings"),
        done("The settings are kept."),
    )
    application = replace(streamlit.APPLICATION, journey=journey)
    with serve(application, tmp_path) as running:
        asyncio.run(play(application, running))
        assert (tmp_path / "lamp.yaml").read_text() == SETTINGS + SETTINGS_END


def test_monaco_keeps_the_exact_text_that_is_written_by_an_element_id(tmp_path: Path) -> None:
    async def journey(reader: Reader) -> None:
        await reader.call("write_element", "textbox", "Keeper", text="signe")
        await reader.call("write_element", "textbox", "Password", text="lamp")
        await reader.call("click_element", "paragraph", "Come in")  # the button's text
        await reader.call("click_element", "radio", "Lamp")
        await rewrite(reader, "Editor content;Press Alt+F1 for Accessibility Options.", SETTINGS, SETTINGS_END)
        await reader.call("click_element", "paragraph", "Keep the settings")

    play_by_ids(streamlit.APPLICATION, tmp_path, "/", journey)
    assert (tmp_path / "lamp.yaml").read_text() == SETTINGS + SETTINGS_END
