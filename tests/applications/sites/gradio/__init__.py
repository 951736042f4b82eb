"""Gradio: a log-in, a form of its widgets, a file, a chat and an accordion."""

from __future__ import annotations

import json
from pathlib import Path

from tests.applications.journey import UPLOADS
from tests.applications.server import PYTHON, Application, Running
from tests.applications.steps import Line, click, done, press, scroll_to, write

JOURNEY = (
    click("field", "username"),
    write("warden"),
    click("field", "password"),
    write("lantern"),
    click("button", "Login", feedback="navigated to"),
    click("field", "Name of the site"),
    write("Lake camp"),
    click("field", "Kind", sees=Line("option", "Lake")),
    click("option", "Lake"),
    click("field", "number input for Tents"),
    write("12"),
    click("checkbox", "Water"),
    click("checkbox", "Boat"),
    click("radio", "Open"),
    click("field", "Note"),
    write("Bring a boat.\nAnd a rope."),
    scroll_to(Line("button", "Save the site")),
    click("button", "Click to upload.*", feedback="plan.txt"),
    write("plan.txt", feedback="chose"),
    click("button", "Save the site"),
    scroll_to(Line("tab", "Questions"), direction="up"),
    click("tab", "Questions"),
    click("field", "Textbox"),
    write("Is there wood?"),
    press("Enter", sees=Line("button", "Retry")),
    scroll_to(Line("tab", "Upkeep"), direction="up"),
    click("tab", "Upkeep"),
    click("button", "Dangerous.*", sees=Line("button", "Close the camp")),
    click("button", "Close the camp", sees=Line("field", "Camp", "The camp is closed.")),
    done("The site by the lake is saved, and the camp is closed."),
)


def check(running: Running) -> None:
    """The site as it was saved."""
    saved = json.loads((running.folder / "camp.json").read_text())
    assert saved == {
        "name": "Lake camp",
        "kind": "Lake",
        "tents": 12,
        "features": ["Water", "Boat"],
        "open": "Open",
        "note": "Bring a boat.\nAnd a rope.",
        "plan": "plan.txt",
        "rows": [["north", 1]],
    }
    assert (running.folder / "plan.txt").read_bytes() == (UPLOADS / "plan.txt").read_bytes()
    assert (running.folder / "chat.txt").read_text() == "Is there wood?\n"
    assert (running.folder / "closed.txt").exists()


APPLICATION = Application(
    command=lambda running: [str(PYTHON), str(Path(__file__).with_name("page.py"))],
    environment=lambda running: {
        "PORT": str(running.port),
        "GRADIO_ANALYTICS_ENABLED": "False",
        "HF_HUB_OFFLINE": "1",
        "GRADIO_TEMP_DIR": str(running.folder / "uploads"),
    },
    journey=JOURNEY,
    check=check,
)
