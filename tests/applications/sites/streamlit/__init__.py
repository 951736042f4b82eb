"""Streamlit: a log-in, its widgets, a file, a sidebar, a search, a form that edits, a dialog that asks, and Monaco."""

from __future__ import annotations

import json
from pathlib import Path

from tests.applications.server import PYTHON, Application, Running
from tests.applications.steps import Line, click, done, press, scroll_to, wait, write

SEARCH = Line("field", "Search the log")
EDITOR = Line("field", "Editor content.*")
FOUND = Line("field", r"Entry \(2 found\)")

JOURNEY = (
    click("field", "Keeper"),
    write("signe"),
    click("field", "Password"),
    write("lamp"),
    click("button", "Come in"),
    click("field", "What happened"),
    write("A ship passed.\nIt hooted."),
    click("field", "Weather", sees=Line("option", "Fog")),
    click("option", "Fog", sees=Line("field", "Weather", "Fog")),
    click("field", "Ships", sees=Line("option", "Fram")),
    click("option", "Fram", sees=Line("button", "Remove Fram")),
    press("Escape"),
    click("slider", value="3"),
    press("Home", sees=Line("slider", value="0")),
    press("Right", "Right", sees=Line("slider", value="2")),
    click("checkbox", "The lamp was lit"),
    click("field", "year, Day"),
    press("2", "0", "2", "6", "0", "5", "1", "7", sees=Line("field", "day, Day", "17")),
    press("Escape"),
    scroll_to(Line("button", "Keep it")),
    click("button", ".*Upload", feedback="plan.txt"),
    write("plan.txt", feedback="chose", sees=Line("button", "Remove plan.txt")),
    click("button", "Increment", sees=Line("field", "Watchers", "2")),
    click("button", "Keep it"),
    wait(1),
    scroll_to(Line("radio", "Read"), direction="up"),
    click("radio", "Read", sees=SEARCH),
    wait(2),
    click("field", SEARCH.name),
    write("oil"),
    press("Enter", sees=FOUND),
    click("field", FOUND.name, sees=Line("option", "A boat brought oil.")),
    click("option", "A boat brought oil.", sees=Line("field", "Text", "A boat brought oil.")),
    scroll_to(Line("button", "Save the change")),
    click("field", "Text"),
    write("A boat brought oil and bread."),
    click("field", "Weather", sees=Line("option", "Storm")),
    click("option", "Storm", sees=Line("field", "Weather", "Storm")),
    click("button", "Save the change", sees=Line("field", FOUND.name, "")),
    click("field", FOUND.name, sees=Line("option", "A boat brought oil and bread.")),
    press("Escape"),
    click("button", "Clear the oldest entry", sees=Line("button", "Yes, clear it")),
    click("button", "Yes, clear it", sees=Line("button", "Clear the oldest entry")),
    click("radio", "Lamp", sees=EDITOR),
    click(EDITOR.role, EDITOR.name),
    write('lit: [18, 6]\ncolours:\n  - {name: "white'),
    write('"}\nby: signe', clear=False),
    click("button", "Keep the settings"),
    done(
        "The passing ship is in the log, the boat brought bread too, the oldest entry is cleared, and the lamp is set."
    ),
)


def check(running: Running) -> None:
    """The entry as it was kept, and the edited one. The oldest of those that the log began with is cleared."""
    log = json.loads((running.folder / "log.json").read_text())
    assert len(log) == 7
    assert log[0]["text"] == "A seal slept on the steps."
    assert log[5] == {"text": "A boat brought oil and bread.", "weather": "Storm", "keeper": "olaf"}
    assert log[6] == {
        "text": "A ship passed.\nIt hooted.",
        "weather": "Fog",
        "ships": ["Fram"],
        "wind": 2,
        "lamp": True,
        "day": "2026-05-17",
        "watchers": 2,
        "sketch": "plan.txt",
        "keeper": "signe",
    }
    assert (running.folder / "lamp.yaml").read_text() == 'lit: [18, 6]\ncolours:\n  - {name: "white"}\nby: signe'


def command(running: Running) -> list[str]:
    """The server's command line."""
    return [
        str(PYTHON), "-m", "streamlit", "run", str(Path(__file__).with_name("page.py")),
        "--server.address", "127.0.0.1", "--server.port", str(running.port), "--server.headless", "true",
        "--browser.gatherUsageStats", "false", "--server.fileWatcherType", "none", "--client.toolbarMode", "viewer",
    ]  # fmt: skip


APPLICATION = Application(command=command, ready="/_stcore/health", journey=JOURNEY, check=check)
