"""A register of camp sites, made with Gradio: it keeps them in a JSON file."""

import json
import os
import shutil
from pathlib import Path

import gradio

STATE = Path(os.environ["STATE"])
SITES = STATE / "sites.json"
KINDS = ["Forest", "Lake", "Mountain"]
FIRST = [
    {"name": name, "kind": kind, "tents": tents, "note": note}
    for name, kind, tents, note in [
        ("Birch meadow", "Forest", 8, "Wood by the gate."),
        ("Pine ridge", "Mountain", 6, "Carry water."),
        ("Long scree", "Mountain", 3, "Mind the stones."),
        ("Reed point", "Lake", 20, "Boats for hire."),
        ("Fern hollow", "Forest", 7, "Shade all day."),
        ("Heron isle", "Lake", 4, "A ferry at noon."),
        ("Otter bay", "Lake", 14, "No swimming."),
        ("Otter creek", "Forest", 10, "The bridge is closed."),
    ]
]


def sites():
    """The camp sites."""
    return json.loads(SITES.read_text()) if SITES.exists() else FIRST


def keep(rows):
    """Write the camp sites."""
    SITES.write_text(json.dumps(rows))


def save(name, kind, tents, features, is_open, note, plan, rows):
    """Keep a camp site, and its plan."""
    if plan:
        shutil.copy(plan, STATE / "plan.txt")
    record = {
        "name": name, "kind": kind, "tents": tents, "features": features, "open": is_open, "note": note,
        "plan": Path(plan).name if plan else None, "rows": rows.values.tolist(),
    }  # fmt: skip
    keep([*sites(), record])
    return f"Saved {name} with {tents} tents."


def find(words):
    """The sites whose name or note holds some words, and their names to choose from."""
    matches = [site for site in sites() if words.lower() in f"{site['name']} {site['note']}".lower()]
    rows = [[site["name"], site["kind"], site["tents"], site["note"]] for site in matches]
    return rows, gradio.update(choices=[site["name"] for site in matches], value=None)


def show(name):
    """The fields of the site that is chosen, without the question of a deletion."""
    site = next((site for site in sites() if site["name"] == name), {})
    shown, hidden = gradio.update(visible=bool(site)), gradio.update(visible=False)
    return shown, hidden, site.get("kind"), site.get("tents"), site.get("note")


def change(name, kind, tents, note):
    """Edit a site."""
    edited = {"kind": kind, "tents": tents, "note": note}
    keep([site | edited if site["name"] == name else site for site in sites()])
    return f"{name} is changed."


def delete(name):
    """Delete a site."""
    keep([site for site in sites() if site["name"] != name])
    return f"{name} is deleted."


def answer(message, history):
    """Keep a message of the chat."""
    with (STATE / "chat.txt").open("a") as log:
        log.write(message + "\n")
    return f"You asked: {message}"


def close_camp():
    """Note that the camp was closed."""
    (STATE / "closed.txt").write_text("closed")
    return "The camp is closed."


with gradio.Blocks(title="Camp sites", analytics_enabled=False) as page:
    gradio.Markdown("# Camp sites")
    with gradio.Tab("Register"):
        name = gradio.Textbox(label="Name of the site")
        kind = gradio.Dropdown(KINDS, label="Kind", value="Forest")
        tents = gradio.Slider(0, 50, value=5, step=1, label="Tents")
        features = gradio.CheckboxGroup(["Water", "Fire", "Boat"], label="Features")
        is_open = gradio.Radio(["Open", "Closed"], label="State", value="Closed")
        note = gradio.Textbox(label="Note", lines=3)
        plan = gradio.File(label="Plan")
        rows = gradio.Dataframe([["north", 1]], headers=["place", "count"], label="Places", interactive=True)
        result = gradio.Textbox(label="Result", interactive=False)
        gradio.Button("Save the site").click(
            save, [name, kind, tents, features, is_open, note, plan, rows], result, api_name="save"
        )
    with gradio.Tab("Sites") as overview:
        words = gradio.Textbox(label="Search the sites", placeholder="A part of a name or a note")
        table = gradio.Dataframe(headers=["name", "kind", "tents", "note"], interactive=False, max_height=200)
        choice = gradio.Dropdown([], label="Site")
        with gradio.Group(visible=False) as fields:
            new_kind = gradio.Dropdown(KINDS, label="New kind")
            new_tents = gradio.Number(label="New number of tents", precision=0)
            new_note = gradio.Textbox(label="New note")
            change_button = gradio.Button("Save the change")
            delete_button = gradio.Button("Delete the site", variant="stop")
            with gradio.Row(visible=False) as question:
                yes = gradio.Button("Yes, delete it", variant="stop")
                no = gradio.Button("No")
        outcome = gradio.Textbox(label="Outcome", interactive=False)
        gradio.on([overview.select, words.submit], find, words, [table, choice])
        choice.change(show, choice, [fields, question, new_kind, new_tents, new_note])
        change_button.click(change, [choice, new_kind, new_tents, new_note], outcome).then(find, words, [table, choice])
        delete_button.click(lambda: gradio.update(visible=True), None, question)
        no.click(lambda: gradio.update(visible=False), None, question)
        yes.click(delete, choice, outcome).then(find, words, [table, choice])
    with gradio.Tab("Questions"):
        gradio.ChatInterface(answer)
    with gradio.Tab("Upkeep"):
        state = gradio.Textbox(label="Camp", interactive=False)
        with gradio.Accordion("Dangerous", open=False):
            gradio.Button("Close the camp").click(close_camp, None, state)

page.launch(
    server_name="127.0.0.1", server_port=int(os.environ["PORT"]), auth=("warden", "lantern"), quiet=True
)  # fmt: skip
