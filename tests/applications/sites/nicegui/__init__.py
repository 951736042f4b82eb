"""NiceGUI (Quasar): a log-in, fields, selects, a switch, a slider, a date, an editor, a file, tabs and a dialog."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

from tests.applications.server import PYTHON, Application, Running
from tests.applications.steps import Line, click, done, press, scroll_to, write

FIELD = "(field|select|button)"

JOURNEY = (
    click("field", "Name"),
    write("otto"),
    click("field", "Password"),
    write("hammer"),
    click("button", "Come in", feedback="navigated to"),
    click("field", "Title"),
    write("Caulk the hull"),
    click(FIELD, "Place", sees=Line("option", "Dock")),
    click("option", "Dock"),
    click("button", "arrow_drop_down", nth=1, sees=Line("option", "Plane")),
    click("option", "Plane"),
    click("option", "Drill"),
    press("Escape"),
    click("checkbox", "Urgent"),
    click("checkbox", "Paid"),
    click("radio", "By machine"),
    click("slider"),
    # A call each: NiceGUI sends every value back to its slider, and a late one undoes a key that was pressed meanwhile.
    press("Right"),
    press("Right"),
    press("Right"),
    click("button", "edit_calendar", sees=Line("button", "17")),
    click("button", "17"),
    press("Escape"),
    scroll_to(Line("button", "Save the job")),
    click("field", "", beside=Line("button", "Undo")),
    write("Use oakum."),
    click(".*", "add.*", feedback="plan.txt"),
    write("plan.txt", feedback="chose"),
    click("button", "Save the job"),
    scroll_to(Line("tab", "Jobs"), direction="up"),
    click("tab", "Jobs", sees=Line("button", "Remove")),
    click("button", "Remove", sees=Line("button", "Yes, remove it")),
    click("button", "Yes, remove it"),
    done("The hull is on the board, the mast is not."),
)


def check(running: Running) -> None:
    """The jobs as they were saved."""
    jobs = json.loads((running.folder / "jobs.json").read_text())
    assert jobs == [
        {
            "title": "Caulk the hull",
            "place": "Dock",
            "tools": ["Plane", "Drill"],
            "urgent": True,
            "paid": True,
            "how": "By machine",
            "hours": 13,
            "due": f"{date.today():%Y-%m}-17",
            "notes": "Use oakum.",
            "files": ["plan.txt"],
        }
    ]


APPLICATION = Application(
    command=lambda running: [str(PYTHON), str(Path(__file__).with_name("page.py"))],
    environment=lambda running: {"PORT": str(running.port)},
    journey=JOURNEY,
    check=check,
)
