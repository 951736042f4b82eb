"""JupyterLab: a log-in by token, a notebook whose cells run, its new name, files: found, edited, moved and deleted."""

from __future__ import annotations

import json

from tests.applications.journey import UPLOADS
from tests.applications.server import PYTHON, Application, Running
from tests.applications.steps import Line, click, done, drag, hover, press, write

SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}

DAYS = range(1, 61)
"""Each has a file. They come first in the list, so that a user has to filter it for any other file."""

NOTES = "# Notes\nThe tide turns at six.\nThe moon is full."
"""What the file of notes holds in the end; it is copied into the notebook."""

FILE = "(button|option|listitem|link)"
"""The role of a file in the browser of files is not the journey's concern."""

FILTER = Line("field", "Filter files by name")

JOURNEY = (
    click("field", "Password or token.*"),
    write("harbour"),
    click("button", "Log in", feedback="navigated to"),
    click("button", "Toggle File Filter", sees=FILTER),
    click(FILTER.role, FILTER.name),
    write("notes", sees=Line(FILE, "notes.md")),
    click(FILE, "notes.md", click_type="double", feedback="navigated to"),
    click("field", ".*", value="# Notes.*"),
    write("# Notes\nThe tide turns at six."),
    write("\nThe moon is full.", clear=False),
    press("ctrl+s"),
    press("ctrl+a"),
    press("ctrl+c"),
    click("tab", "Launcher"),
    click("button", "Python 3.*", feedback="navigated to"),
    click("field", "", value=""),
    write("total = sum(range(10))\ntotal"),
    press("shift+enter", sees=Line("button", ".*Idle")),
    click("select", "Cell type"),
    write("Markdown"),
    click("field", "", value=""),
    write("The sum is right."),
    press("Enter"),
    press("ctrl+v"),
    press("shift+enter"),
    click("tab", "Untitled.ipynb", button="right", sees=Line("menuitem", "Rename Notebook.*")),
    click("menuitem", "Rename Notebook.*", sees=Line("button", "Rename")),
    write("tide.ipynb"),
    click("button", "Rename"),
    click("button", "Upload Files", feedback="plan.txt"),
    write("plan.txt", feedback="chose", sees=Line("tab", "plan.txt")),
    click("tab", "tide.ipynb"),
    click("menuitem", "File", sees=Line("menuitem", "Save Notebook.*")),
    click("menuitem", "Save Notebook .*"),
    click("menuitem", "File", sees=Line("button", "New")),
    hover(Line("button", "New"), sees=Line("menuitem", "Markdown File")),
    click("menuitem", "Markdown File", sees=Line("tab", "untitled.md")),
    click(FILTER.role, FILTER.name),
    write("plan", sees=Line(FILE, "plans")),
    drag(Line(FILE, "plan.txt"), Line(FILE, "plans")),
    click(FILTER.role, FILTER.name),
    write("old", sees=Line(FILE, "old.txt")),
    click(FILE, "old.txt"),
    click(FILE, "older.txt", modifiers=["ctrl"]),
    click(FILE, "older.txt", button="right", sees=Line("menuitem", "Move to Trash.*")),
    click("menuitem", "Move to Trash.*", sees=Line("button", "Move to Trash")),
    click("button", "Move to Trash"),
    done("The sum is 45, the notes are kept, the plan is filed, the old files are gone."),
)


def prepare(running: Running) -> list[list[str]]:
    """The folder with its files."""
    folder = running.folder / "work"
    folder.mkdir()
    (folder / "notes.md").write_text("# Notes\n")
    for name in ("old.txt", "older.txt"):
        (folder / name).write_text("old\n")
    (folder / "plans").mkdir()
    for day in DAYS:
        (folder / f"day-{day:02}.csv").write_text("hour,height\n6,2.4\n")
    overrides = running.folder / "settings/overrides.json"
    overrides.parent.mkdir()
    overrides.write_text(json.dumps(SETTINGS))
    return []


def check(running: Running) -> None:
    """The notebook with its output, the notes, the moved plan, the new file, and no old file."""
    work = running.folder / "work"
    assert sorted(path.name for path in work.iterdir() if not path.name.startswith(".")) == [
        *(f"day-{day:02}.csv" for day in DAYS),
        "notes.md",
        "plans",
        "tide.ipynb",
        "untitled.md",
    ]
    assert (work / "plans/plan.txt").read_bytes() == (UPLOADS / "plan.txt").read_bytes()
    assert (work / "notes.md").read_text() == NOTES
    code, text, *_ = json.loads((work / "tide.ipynb").read_text())["cells"]
    assert ("".join(code["source"]), code["outputs"][0]["data"]["text/plain"]) == (
        "total = sum(range(10))\ntotal",
        ["45"],
    )
    assert (text["cell_type"], "".join(text["source"])) == ("markdown", f"The sum is right.\n{NOTES}")


def command(running: Running) -> list[str]:
    """The server's command line."""
    return [
        str(PYTHON), "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={running.port}", "--IdentityProvider.token=harbour", "--LabApp.news_url=",
        f"--ServerApp.root_dir={running.folder / 'work'}", f"--LabApp.app_settings_dir={running.folder / 'settings'}",
    ]  # fmt: skip


APPLICATION = Application(
    command=command,
    prepare=prepare,
    ready="/login",
    start="/lab",
    journey=JOURNEY,
    check=check,
)
