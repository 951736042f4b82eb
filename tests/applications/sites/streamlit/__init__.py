"""Streamlit: a log-in, its widgets (select, multi-select, slider, date, number, file), a sidebar and a dialog."""

from __future__ import annotations

import json
from pathlib import Path

from tests.applications.server import PYTHON, Application, Running
from tests.applications.steps import Line, click, done, press, scroll_to, wait, write

JOURNEY = (
    click("field", "Keeper"),
    write("signe"),
    click("field", "Password"),
    write("lamp"),
    click("button", "Come in"),
    click("field", "What happened"),
    write("A ship passed.\nIt hooted."),
    click("field", "Weather", sees=Line("option", "Fog")),
    click("option", "Fog"),
    click("field", "Ships", sees=Line("option", "Fram")),
    click("option", "Fram"),
    press("Escape"),
    click("slider", value="3"),
    press("Home"),
    press("Right", "Right"),
    click("checkbox", "The lamp was lit"),
    click("field", "year, Day"),
    press("2", "0", "2", "6", "0", "5", "1", "7"),
    press("Escape"),
    scroll_to(Line("button", "Keep it")),
    click("button", ".*Upload", feedback="plan.txt"),
    write("plan.txt", feedback="chose"),
    click("button", "Increment", sees=Line("field", "Watchers", "2")),
    click("button", "Keep it"),
    scroll_to(Line("radio", "Read"), direction="up"),
    click("radio", "Read", sees=Line("button", "Clear the oldest entry")),
    wait(2),
    click("button", "Clear the oldest entry", sees=Line("button", "Yes, clear it")),
    click("button", "Yes, clear it", sees=Line("button", "Clear the oldest entry")),
    done("The passing ship is in the log, and the oldest entry is cleared."),
)


def check(running: Running) -> None:
    """The entry as it was kept. The one that the log began with is cleared."""
    assert json.loads((running.folder / "log.json").read_text()) == [
        {
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
    ]


def command(running: Running) -> list[str]:
    """The server's command line."""
    return [
        str(PYTHON), "-m", "streamlit", "run", str(Path(__file__).with_name("page.py")),
        "--server.address", "127.0.0.1", "--server.port", str(running.port), "--server.headless", "true",
        "--browser.gatherUsageStats", "false", "--server.fileWatcherType", "none", "--client.toolbarMode", "viewer",
    ]  # fmt: skip


APPLICATION = Application(command=command, ready="/_stcore/health", journey=JOURNEY, check=check)
