"""Datasette: a table with filters and an SQL editor (CodeMirror 5), forms that write, an upload, a log-in."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests.applications.server import PYTHON, Application, Running
from tests.applications.steps import Line, click, done, go_back, press, scroll_to, write

JOURNEY = (
    click("button", "Menu", sees=Line("link", "Log in")),
    click("link", "Log in", feedback="navigated to"),
    click("field", "Username.*"),
    write("harbourmaster"),
    click("field", "Password.*"),
    write("pilot"),
    press("Enter", feedback="navigated to"),
    click("link", "harbour", feedback="navigated to"),
    click("link", "ships", feedback="navigated to"),
    click("select", value="- column -"),
    write("flag"),
    click("field", beside=Line("button", "Apply")),
    write("Ghana"),
    click("button", "Apply", feedback="navigated to"),
    scroll_to(Line("link", "tons")),
    click("link", "tons", feedback="navigated to"),
    click("link", ".*View and edit SQL", feedback="navigated to"),
    scroll_to(Line("button", "Run SQL")),
    click("field", ".*", value="(?s).*select.*", feedback="focused"),
    write("select name, tons from ships where flag = 'Chile' order by tons desc limit 3"),
    click("button", "Run SQL", feedback="navigated to"),
    go_back(),
    click("link", "harbour", feedback="navigated to"),
    scroll_to(Line("link", "Add a ship")),
    click("link", "Add a ship.*", feedback="navigated to"),
    scroll_to(Line("field", "name")),
    click("field", "name"),
    write("Fram II"),
    click("field", "flag"),
    write("Norway"),
    click("field", "tons"),
    write("402"),
    click("button", "Run SQL", feedback="navigated to"),
    click("link", "harbour", feedback="navigated to"),
    scroll_to(Line("link", "Delete a ship")),
    click("link", "Delete a ship.*", feedback="navigated to"),
    click("field", "id"),
    write("17"),
    click("button", "Run SQL", feedback="navigated to"),
    click("link", "harbour", feedback="navigated to"),
    scroll_to(Line("link", "Rename a ship")),
    click("link", "Rename a ship", feedback="navigated to"),
    click("field", "name"),
    write("Aurora"),
    click("field", "id"),
    write("30"),
    click("button", "Run SQL", feedback="navigated to"),
    click("button", "Menu", sees=Line("link", "Upload CSVs")),
    click("link", "Upload CSVs", feedback="navigated to"),
    click("field", "Select a file to upload.*", feedback="masters.csv"),
    write("masters.csv", feedback="chose"),
    click("button", "Upload file", sees=Line("link", "master")),
    click("button", "Menu", sees=Line("button", "Log out")),
    click("button", "Log out", feedback="navigated to"),
    done("Fram II is in the register, number 17 has left it, number 30 is the Aurora, the masters are listed."),
)


def check(running: Running) -> None:
    """One ship more, one less, one with another name; a table of masters."""
    with sqlite3.connect(running.folder / "harbour.db") as database:
        assert database.execute("select name, flag, tons from ships where id > 240").fetchall() == [
            ("Fram II", "Norway", 402)
        ]
        assert database.execute("select count(*) from ships where id = 17").fetchone() == (0,)
        assert database.execute("select count(*) from ships").fetchone() == (240,)
        assert database.execute("select id, name from ships where name not like 'Vessel%' order by id").fetchall() == [
            (30, "Aurora"),
            (241, "Fram II"),
        ]
        assert database.execute("select ship, master from masters order by ship").fetchall() == [
            ("Aurora", "Bruno"),
            ("Fram II", "Ada"),
        ]


def command(running: Running) -> list[str]:
    """The server's command line."""
    return [
        str(PYTHON.with_name("datasette")), "serve", "--port", str(running.port), "--metadata", "metadata.json",
        "--plugins-dir", str(Path(__file__).with_name("plugins")), "harbour.db",
    ]  # fmt: skip


APPLICATION = Application(
    command=command,
    prepare=lambda running: [[str(PYTHON), str(Path(__file__).with_name("seed.py"))]],
    journey=JOURNEY,
    check=check,
)
