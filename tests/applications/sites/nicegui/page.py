"""A workshop's board, made with NiceGUI: it keeps its jobs in a JSON file."""

import json
import os
from pathlib import Path

from nicegui import app, ui

STATE = Path(os.environ["STATE"])
JOBS = STATE / "jobs.json"


def jobs() -> list[dict]:
    """The jobs."""
    return json.loads(JOBS.read_text()) if JOBS.exists() else [{"title": "Mend the mast", "place": "Yard"}]


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
    place = ui.select(["Yard", "Dock", "Loft"], value="Yard", label="Place")
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
    """The jobs, each with a button that removes it after a question."""
    for row in jobs():
        with ui.row().classes("items-center"):
            ui.label(f"{row['title']} ({row['place']})")
            ui.button("Remove", on_click=lambda _, row=row: ask(row))


def ask(row: dict) -> None:
    """The question."""
    with ui.dialog() as dialog, ui.card():
        ui.label(f"Remove {row['title']}?")

        def remove() -> None:
            keep([job for job in jobs() if job["title"] != row["title"]])
            dialog.close()
            table.refresh()

        ui.button("Yes, remove it", on_click=remove)
        ui.button("No", on_click=dialog.close)
    dialog.open()


ui.run(
    host="127.0.0.1", port=int(os.environ["PORT"]), show=False, reload=False, title="The workshop",
    storage_secret="a workshop of a test", show_welcome_message=False,
)  # fmt: skip
