"""Gradio: a log-in, a form of its widgets, a file, a search, an edit, a deletion after a question, a chat."""

from __future__ import annotations

import json
from pathlib import Path

from tests.applications.journey import UPLOADS
from tests.applications.server import PYTHON, Application, Running
from tests.applications.steps import Line, click, done, press, scroll_to, write

SEARCH = Line("field", "Search the sites")
SITE = Line("field", "Site")
"""The names of sites are in the table, too, whose cells are options; those of the drop-down list are nearest to it."""

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
    click("button", "Save the site", sees=Line("field", "Result", "Saved Lake camp with 12 tents.")),
    scroll_to(Line("tab", "Sites"), direction="up"),
    click("tab", "Sites", sees=SEARCH),
    click("field", SEARCH.name),
    write("otter"),
    press("Enter", sees=Line("option", "Otter creek")),
    click("field", "Site", sees=Line("option", "Otter creek", nth=1)),
    click("option", "Otter creek", beside=SITE, sees=Line("field", "New number of tents", "10")),
    scroll_to(Line("button", "Save the change")),
    click("field", "New kind", sees=Line("option", "Mountain")),
    click("option", "Lake", beside=Line("field", "New kind"), sees=Line("field", "New kind", "Lake")),
    click("field", "New number of tents"),
    write("11", sees=Line("field", "New number of tents", "11")),
    click("field", "New note"),
    write("The bridge is open."),
    click("button", "Save the change", sees=Line("option", "The bridge is open.")),
    scroll_to(SEARCH, direction="up"),
    click("field", SEARCH.name),
    write("ferry"),
    press("Enter", sees=Line("option", "Heron isle")),
    click("field", "Site", sees=Line("option", "Heron isle", nth=1)),
    click("option", "Heron isle", beside=SITE, sees=Line("field", "New number of tents", "4")),
    scroll_to(Line("button", "Delete the site")),
    click("button", "Delete the site", sees=Line("button", "Yes, delete it")),
    click("button", "Yes, delete it", sees=Line("field", "Outcome", "Heron isle is deleted.")),
    scroll_to(Line("tab", "Questions"), direction="up"),
    click("tab", "Questions"),
    click("field", "Textbox"),
    write("Is there wood?"),
    press("Enter", sees=Line("button", "Retry")),
    scroll_to(Line("tab", "Upkeep"), direction="up"),
    click("tab", "Upkeep"),
    click("button", "Dangerous.*", sees=Line("button", "Close the camp")),
    click("button", "Close the camp", sees=Line("field", "Camp", "The camp is closed.")),
    done("The site by the lake is saved, the creek is open, the isle is deleted, and the camp is closed."),
)


def check(running: Running) -> None:
    """The site that was saved, the site that was edited, and no site that was deleted."""
    sites = {site["name"]: site for site in json.loads((running.folder / "sites.json").read_text())}
    assert len(sites) == 8
    assert "Heron isle" not in sites
    assert sites["Otter creek"] == {"name": "Otter creek", "kind": "Lake", "tents": 11, "note": "The bridge is open."}
    assert sites["Lake camp"] == {
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
