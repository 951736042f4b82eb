"""Wagtail: an article is found, written (in Draftail), given a section and a quote, published; an image is added."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

from components.browser.feedback import CHANGED
from tests.applications.server import PYTHON, Application, Running
from tests.applications.steps import Line, click, done, hover, press, scroll_to, write

CHOOSER = "(field|button|file)"

JOURNEY = (
    click("field", "Username.*"),
    write("editor"),
    click("field", "Password.*"),
    write("headline"),
    click("button", "Sign in", feedback="navigated to"),
    click("field", "Search"),
    write("canoe"),
    press("Enter", feedback="navigated to"),
    click("link", "A week by canoe", feedback="navigated to"),
    hover(Line("link", "History"), feedback=CHANGED),
    click("field", "Intro"),
    write("Six days on the long lake."),
    click("select", "Section.*"),
    write("Travel"),
    scroll_to(Line("field", "", "To be written.")),
    click("field", "", value="To be written."),
    write("We left at dawn.\nThe lake was still."),
    scroll_to(Line("button", "Picture")),
    click("button", "Insert a block", beside=Line("button", "Parts"), sees=Line("option", "Quote")),
    click("option", "Quote", sees=Line("field", "", "")),
    write("Slow is fast."),
    scroll_to(Line("button", "Choose an image")),
    click("button", "Choose an image", sees=Line("tab", "Upload")),
    click("tab", "Upload", sees=Line("button", "Upload")),
    click(CHOOSER, "File.*", feedback="tent.png"),
    write("tent.png", feedback="chose"),
    click("button", "Upload", sees=Line("button", "More actions")),
    click("button", "More actions", sees=Line("button", "Publish")),
    click("button", "Publish", sees=Line("link", "Bread without an oven")),
    click("link", "Bread without an oven", feedback="navigated to"),
    click("button", "Actions", sees=Line("link", "Delete")),
    click("link", "Delete", feedback="navigated to"),
    click("button", "Yes, delete it", feedback="navigated to"),
    click("button", "editor", sees=Line("(link|button)", "Log out")),
    click("(link|button)", "Log out", feedback="navigated to"),
    done("The article on the canoe is published; the one on bread is deleted."),
)


def check(running: Running) -> None:
    """The article as it was published."""
    with sqlite3.connect(running.folder / "magazine.sqlite3") as database:
        articles = database.execute(
            "select title, live, intro, body, section, parts from magazine_articlepage "
            "join wagtailcore_page on id = page_ptr_id order by title"
        ).fetchall()
        images = database.execute("select title from wagtailimages_image").fetchall()
    assert images == [("tent",)]
    assert [title for title, *_ in articles] == ["A week by canoe", "Notes on rope", "Tents of the north"]
    _, live, intro, body, section, parts = articles[0]
    assert (live, intro, section) == (1, "Six days on the long lake.", "travel")
    assert re.sub("<p[^>]*>", "<p>", body) == "<p>We left at dawn.</p><p>The lake was still.</p>"
    assert [(part["type"], part["value"]) for part in json.loads(parts)] == [("quote", "Slow is fast.")]


APPLICATION = Application(
    command=lambda running: [str(PYTHON), "-m", "django", "runserver", "--noreload", f"127.0.0.1:{running.port}"],
    prepare=lambda running: [
        [str(PYTHON), "-m", "django", "migrate", "--run-syncdb", "-v0"],
        [str(PYTHON), "-m", "magazine.seed"],
    ],
    environment=lambda running: {"DJANGO_SETTINGS_MODULE": "magazine.settings"},
    code=Path(__file__).parent,
    ready="/admin/login/",
    start="/admin/",
    journey=JOURNEY,
    check=check,
)
