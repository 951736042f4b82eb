"""A workshop's board, made with NiceGUI: it keeps its jobs in a JSON file."""

import json
import os
from pathlib import Path

from nicegui import app, ui

STATE = Path(os.environ["STATE"])
JOBS = STATE / "jobs.json"
PLACES = ["Yard", "Dock", "Loft"]
FIRST = [
    {"id": number, "title": title, "place": place, "hours": hours}
    for number, (title, place, hours) in enumerate(
        [
            ("Scrape the keel", "Dock", 12),
            ("Paint the rail", "Yard", 5),
            ("Sew the jib", "Loft", 8),
            ("Splice the sheets", "Loft", 3),
            ("Oil the blocks", "Yard", 2),
            ("Mend the mast", "Yard", 9),
            ("Bend the ribs", "Dock", 16),
            ("Grease the winch", "Dock", 1),
            ("Varnish the mast", "Loft", 4),
        ],
        start=1,
    )
]
COLUMNS = [
    {"name": "title", "label": "Job", "field": "title", "align": "left", "sortable": True},
    {"name": "place", "label": "Place", "field": "place", "align": "left", "sortable": True},
    {"name": "hours", "label": "Hours", "field": "hours", "sortable": True},
    {"name": "actions", "label": "", "field": "id"},
]
ACTIONS = """
<q-td :props="props">
  <q-btn flat label="Edit" :aria-label="'Edit ' + props.row.title" @click="$parent.$emit('edit', props.row.id)" />
  <q-btn flat label="Remove" :aria-label="'Remove ' + props.row.title" @click="$parent.$emit('remove', props.row.id)" />
</q-td>
"""


def jobs() -> list[dict]:
    """The jobs."""
    return json.loads(JOBS.read_text()) if JOBS.exists() else FIRST


def job(number: int) -> dict:
    """The job of a number."""
    return next(row for row in jobs() if row["id"] == number)


def keep(rows: list[dict]) -> None:
    """Write the jobs."""
    JOBS.write_text(json.dumps(rows))


@ui.page("/")
def board() -> None:
    """The log-in, or the board."""
    if not app.storage.user.get("name"):
        name, word = ui.input("Name"), ui.input("Password", password=True)

        def come_in() -> None:
            if (name.value, word.value) == ("otto", "hammer"):
                app.storage.user["name"] = name.value
                ui.navigate.to("/")
            else:
                ui.notify("The password is wrong.")

        ui.button("Come in", on_click=come_in)
        return
    with ui.tabs() as tabs:
        ui.tab("New job")
        ui.tab("Jobs")
    with ui.tab_panels(tabs, value="New job").classes("w-full"):
        with ui.tab_panel("New job"):
            form()
        with ui.tab_panel("Jobs"):
            table()


def form() -> None:
    """The fields of a new job."""
    title = ui.input("Title")
    place = ui.select(PLACES, value="Yard", label="Place")
    tools = ui.select(["Saw", "Plane", "Drill"], multiple=True, label="Tools").classes("w-64")
    urgent = ui.switch("Urgent")
    paid = ui.checkbox("Paid")
    how = ui.radio(["By hand", "By machine"], value="By hand").props("inline")
    ui.label("Hours")
    hours = ui.slider(min=0, max=20, value=4)
    with ui.input("Due") as due:
        with ui.menu().props("no-parent-event") as menu:
            ui.date().bind_value(due)
        with due.add_slot("append"):
            ui.icon("edit_calendar").on("click", menu.open).classes("cursor-pointer")
    notes = ui.editor(placeholder="Notes")
    files: list[str] = []

    async def store(event) -> None:
        files.append(event.file.name)
        await event.file.save(STATE / event.file.name)

    ui.upload(label="Drawing", auto_upload=True, on_upload=store)

    def save() -> None:
        row = {
            "id": max(row["id"] for row in jobs()) + 1,
            "title": title.value, "place": place.value, "tools": tools.value, "urgent": urgent.value,
            "paid": paid.value, "how": how.value, "hours": hours.value, "due": due.value, "notes": notes.value,
            "files": files,
        }  # fmt: skip
        keep([*jobs(), row])
        ui.notify("The job is on the board.")
        table.refresh()

    ui.button("Save the job", on_click=save)


@ui.refreshable
def table() -> None:
    """The jobs in a table with a search, each with buttons that edit it, and remove it after a question."""
    search = ui.input("Search the jobs").props("clearable")
    rows = ui.table(columns=COLUMNS, rows=jobs(), row_key="id", pagination=5).classes("w-full")
    rows.bind_filter_from(search, "value")
    rows.add_slot("body-cell-actions", ACTIONS)
    rows.on("edit", lambda event: edit(job(event.args), rows))
    rows.on("remove", lambda event: ask(job(event.args), rows))


def edit(row: dict, rows: ui.table) -> None:
    """The fields of a job in a dialog."""
    with ui.dialog(value=True) as dialog, ui.card():
        title = ui.input("Title of the job", value=row["title"])
        place = ui.select(PLACES, value=row["place"], label="Place of the job").classes("w-full")
        hours = ui.number("Hours of the job", value=row["hours"], min=0, max=20, format="%d")

        def save() -> None:
            change = {"title": title.value, "place": place.value, "hours": int(hours.value)}
            keep([other | change if other["id"] == row["id"] else other for other in jobs()])
            dialog.close()
            rows.rows = jobs()

        ui.button("Save the change", on_click=save)
        ui.button("Cancel", on_click=dialog.close)


def ask(row: dict, rows: ui.table) -> None:
    """The question."""
    with ui.dialog(value=True) as dialog, ui.card():
        ui.label(f"Remove {row['title']}?")

        def remove() -> None:
            keep([other for other in jobs() if other["id"] != row["id"]])
            dialog.close()
            rows.rows = jobs()

        ui.button("Yes, remove it", on_click=remove)
        ui.button("No", on_click=dialog.close)


ui.run(
    host="127.0.0.1", port=int(os.environ["PORT"]), show=False, reload=False, title="The workshop",
    storage_secret="a workshop of a test", show_welcome_message=False,
)  # fmt: skip
