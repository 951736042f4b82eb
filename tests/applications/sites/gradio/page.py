"""A form of camp sites, made with Gradio: it keeps what is sent in a JSON file."""

import json
import os
import shutil
from pathlib import Path

import gradio

STATE = Path(os.environ["STATE"])


def save(name, kind, tents, features, is_open, note, plan, rows):
    """Keep a camp site, and the number of bytes of its plan."""
    if plan:
        shutil.copy(plan, STATE / "plan.txt")
    record = {
        "name": name, "kind": kind, "tents": tents, "features": features, "open": is_open, "note": note,
        "plan": Path(plan).name if plan else None, "rows": rows.values.tolist(),
    }  # fmt: skip
    (STATE / "camp.json").write_text(json.dumps(record))
    return f"Saved {name} with {tents} tents."


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
        kind = gradio.Dropdown(["Forest", "Lake", "Mountain"], label="Kind", value="Forest")
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
    with gradio.Tab("Questions"):
        gradio.ChatInterface(answer)
    with gradio.Tab("Upkeep"):
        state = gradio.Textbox(label="Camp", interactive=False)
        with gradio.Accordion("Dangerous", open=False):
            gradio.Button("Close the camp").click(close_camp, None, state)

page.launch(
    server_name="127.0.0.1", server_port=int(os.environ["PORT"]), auth=("warden", "lantern"), quiet=True
)  # fmt: skip
