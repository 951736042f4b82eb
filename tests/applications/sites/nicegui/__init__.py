"""NiceGUI (Quasar): a log-in, its fields, an editor, a file, a table with a search, and dialogs that edit and ask."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

from tests.applications.server import PYTHON, Application, Running
from tests.applications.steps import Line, click, done, drag, press, scroll_to, write

SEARCH = Line("field", "Search the jobs")

JOURNEY = (
    click("field", "Name"),
    write("otto"),
    click("field", "Password"),
    write("hammer"),
    click("button", "Come in", feedback="navigated to"),
    click("field", "Title"),
    write("Caulk the hull"),
    click("select", "Place", sees=Line("option", "Dock")),
    click("option", "Dock"),
    click("select", "Tools", sees=Line("option", "Plane")),
    click("option", "Plane"),
    click("option", "Drill"),
    press("Escape"),
    click("checkbox", "Urgent"),
    click("checkbox", "Paid"),
    click("radio", "By machine"),
    drag(Line("slider"), Line("radio", "By machine"), sees=Line("slider", value="3")),
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
    click("tab", "Jobs", sees=SEARCH),
    click("field", SEARCH.name),
    write("hull", sees=Line("button", "Edit Caulk the hull")),
    write("winch", sees=Line("button", "Edit Grease the winch")),
    click("button", "Edit Grease the winch", sees=Line("field", "Title of the job", "Grease the winch")),
    click("field", "Title of the job"),
    write("Grease both winches"),
    click("select", "Place of the job", sees=Line("option", "Yard")),
    click("option", "Yard"),
    click("field", "Hours of the job"),
    write("4", sees=Line("field", "Hours of the job", "4")),
    click("button", "Save the change", sees=Line("button", "Edit Grease both winches")),
    click("field", SEARCH.name),
    write("mast", sees=Line("button", "Remove Mend the mast")),
    click("button", "Remove Mend the mast", sees=Line("button", "Yes, remove it")),
    click("button", "Yes, remove it", sees=Line("button", "Remove Varnish the mast")),
    done("The hull is on the board, both winches are to be greased, the mast is not mended."),
)


def check(running: Running) -> None:
    """The job that was saved, the job that was edited, and no job that was removed."""
    jobs = {job["title"]: job for job in json.loads((running.folder / "jobs.json").read_text())}
    assert len(jobs) == 9
    assert "Mend the mast" not in jobs
    assert jobs["Grease both winches"] == {"id": 8, "title": "Grease both winches", "place": "Yard", "hours": 4}
    assert jobs["Varnish the mast"] == {"id": 9, "title": "Varnish the mast", "place": "Loft", "hours": 4}
    assert jobs["Caulk the hull"] == {
        "id": 10,
        "title": "Caulk the hull",
        "place": "Dock",
        "tools": ["Plane", "Drill"],
        "urgent": True,
        "paid": True,
        "how": "By machine",
        "hours": 6,
        "due": f"{date.today():%Y-%m}-17",
        "notes": "Use oakum.",
        "files": ["plan.txt"],
    }


APPLICATION = Application(
    command=lambda running: [str(PYTHON), str(Path(__file__).with_name("page.py"))],
    environment=lambda running: {"PORT": str(running.port)},
    journey=JOURNEY,
    check=check,
)
