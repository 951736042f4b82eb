"""Django's admin: a catalogue with a search, a form with a window of its own, a date, genres, editors, a deletion."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests.applications.server import PYTHON, Application, Running
from tests.applications.steps import Line, click, done, press, scroll_to, write

SETTINGS = {"DJANGO_SETTINGS_MODULE": "library.settings"}
CHOOSER = "(field|button|file)"
SAVE = Line("button", "Save")

JOURNEY = (
    click("field", "Username:"),
    write("librarian"),
    click("field", "Password:"),
    write("shelves"),
    click("button", "Log in", feedback="navigated to"),
    click("link", "Books", feedback="navigated to"),
    click("field", beside=Line("button", "Search")),
    write("whale"),
    click("button", "Search", feedback="navigated to"),
    click("link", r"The Whale Road", feedback="navigated to"),
    click("field", "Title:"),
    write("The Whale Road, second edition"),
    click("link", "Add another author", feedback="New tab"),
    click("field", "Name:"),
    write("Jonas Pequod"),
    click("button", "Save", feedback="tab was closed|tab .* closed"),
    click("select", "Language:.*"),
    write("Norwegian"),
    click("link", "Today"),
    click("checkbox", "In print"),
    scroll_to(Line("option", "Travel")),
    click("option", "Travel"),
    click("button", "Choose selected genres"),
    scroll_to(Line("field", "Summary:")),
    click("field", "Summary:"),
    write("A voyage to the north."),
    write("\nNothing else happens.", clear=False),
    scroll_to(Line("button", "Create Link")),
    click("field", "Review:"),
    write("It begins well.\nIt ends (too) soon."),
    write(" A pity.", clear=False),
    click("field", "Notes:"),
    write("# Shelf\n\n- north [2]\n  - upper row"),
    write('\n- the "old" hall', clear=False),
    scroll_to(Line(CHOOSER, "Cover:.*")),
    click(CHOOSER, "Cover:.*", feedback="plan.txt"),
    write("plan.txt", feedback="chose"),
    scroll_to(Line("(link|button)", "Add another Loan")),
    click("(link|button)", "Add another Loan"),
    click("field", beside=Line("(link|button)", "Add another Loan")),
    write("Queequeg"),
    scroll_to(SAVE),
    click("button", "Save", feedback="navigated to"),
    click("checkbox", beside=Line("link", r"The Whale Road \(spoiled copy\)")),
    click("select", "Action:.*"),
    write("Delete selected books"),
    click("button", "(Go|Run)", feedback="navigated to"),
    click("button", "Yes, I.m sure", feedback="navigated to"),
    click("link", "The Whale Road, second edition", feedback="navigated to"),
    click("link", "History", feedback="navigated to"),
    press("PageDown", is_visible=False),
    click("button", "Log out", feedback="navigated to"),
    done("The second edition is in the catalogue; the spoiled copy is not."),
)


def check(running: Running) -> None:
    """The edition with all its fields, and no spoiled copy."""
    with sqlite3.connect(running.folder / "library.sqlite3") as database:
        books = database.execute(
            "select b.title, a.name, language, published >= date('now', '-10 minutes'), in_print, summary, "
            "review, notes, cover from library_book b join library_author a on a.id = b.author_id "
            "where b.title like '%whale%'"
        ).fetchall()
        genres = database.execute("select name from library_book_genres join library_genre g on g.id = genre_id")
        loans = database.execute("select reader from library_loan").fetchall()
        sessions = database.execute("select count(*) from django_session").fetchone()
        assert books == [
            (
                "The Whale Road, second edition",
                "Jonas Pequod",
                "no",
                1,
                1,
                "A voyage to the north.\r\nNothing else happens.",
                "<p>It begins well.</p><p>It ends (too) soon. A pity.</p>",
                '# Shelf\r\n\r\n- north [2]\r\n  - upper row\r\n- the "old" hall',
                "covers/plan.txt",
            )
        ]
        assert genres.fetchall() == [("Travel",)]
        assert loans == [("Queequeg",)]
        assert sessions == (0,)


def commands(running: Running) -> list[list[str]]:
    """The tables and the data."""
    python = str(PYTHON)
    return [[python, "-m", "django", "migrate", "--run-syncdb", "-v0"], [python, "-m", "library.seed"]]


APPLICATION = Application(
    command=lambda running: [str(PYTHON), "-m", "django", "runserver", "--noreload", f"127.0.0.1:{running.port}"],
    prepare=commands,
    environment=lambda running: SETTINGS,
    code=Path(__file__).parent,
    ready="/admin/login/",
    start="/admin/",
    journey=JOURNEY,
    check=check,
)
