"""A lighthouse's log, made with Streamlit: it keeps what is sent in a JSON file, and settings in a YAML file."""

import json
import os
from pathlib import Path

import streamlit
from streamlit_monaco_yaml import monaco_editor

STATE = Path(os.environ["STATE"])
LOG = STATE / "log.json"
LAMP = STATE / "lamp.yaml"
WEATHER = ["Calm", "Fog", "Storm"]
FIRST = [
    {"text": text, "weather": weather, "keeper": "olaf"}
    for text, weather in [
        ("The tower was painted.", "Calm"),
        ("A seal slept on the steps.", "Calm"),
        ("The horn broke.", "Fog"),
        ("Two herring boats sheltered here.", "Storm"),
        ("The lens was cleaned.", "Calm"),
        ("The oil ran low.", "Fog"),
        ("A boat brought oil.", "Calm"),
    ]
]


def entries() -> list[dict]:
    """The log."""
    return json.loads(LOG.read_text()) if LOG.exists() else FIRST


def keep(log: list[dict]) -> None:
    """Write the log."""
    LOG.write_text(json.dumps(log))


@streamlit.dialog("Clear the oldest entry?")
def clear() -> None:
    """Ask, then remove the oldest entry."""
    streamlit.write("This cannot be undone.")
    if streamlit.button("Yes, clear it"):
        keep(entries()[1:])
        streamlit.rerun()


def log_in() -> None:
    """The page before the log-in."""
    streamlit.title("The lighthouse")
    keeper, word = streamlit.text_input("Keeper"), streamlit.text_input("Password", type="password")
    if streamlit.button("Come in"):
        if (keeper, word) == ("signe", "lamp"):
            streamlit.session_state.keeper = keeper
            streamlit.rerun()
        streamlit.error("The password is wrong.")


def log() -> None:
    """The section that the keeper chose."""
    streamlit.title("The log")
    section = streamlit.sidebar.radio("Section", ["Write", "Read", "Lamp"])
    {"Write": write, "Read": read, "Lamp": lamp}[section]()


def write() -> None:
    """The form of a new entry."""
    text = streamlit.text_area("What happened")
    weather = streamlit.selectbox("Weather", WEATHER)
    seen = streamlit.multiselect("Ships", ["Aurora", "Borealis", "Fram"])
    wind = streamlit.slider("Wind", 0, 12, 3)
    lamp = streamlit.checkbox("The lamp was lit")
    day = streamlit.date_input("Day", value=None)
    watchers = streamlit.number_input("Watchers", 1, 9, 1)
    sketch = streamlit.file_uploader("Sketch")
    if streamlit.button("Keep it"):
        record = {
            "text": text, "weather": weather, "ships": seen, "wind": wind, "lamp": lamp, "day": str(day),
            "watchers": watchers, "sketch": sketch.name if sketch else None, "keeper": streamlit.session_state.keeper,
        }  # fmt: skip
        keep([*entries(), record])
        streamlit.success("It is in the log.")


def read() -> None:
    """The entries with a search; one of them is chosen and edited in a form."""
    words = streamlit.text_input("Search the log")
    matches = {number: row for number, row in enumerate(entries()) if words.lower() in row["text"].lower()}
    streamlit.dataframe(list(matches.values()), height=150)
    if streamlit.button("Clear the oldest entry"):
        clear()
    number = streamlit.selectbox(
        f"Entry ({len(matches)} found)",
        list(matches),
        index=None,
        format_func=lambda number: entries()[number]["text"],
    )
    if number is None:
        return
    with streamlit.form(f"entry {number}"):
        text = streamlit.text_area("Text", matches[number]["text"])
        weather = streamlit.selectbox("Weather", WEATHER, WEATHER.index(matches[number]["weather"]))
        if streamlit.form_submit_button("Save the change"):
            change = {"text": text, "weather": weather}
            keep([row | change if other == number else row for other, row in enumerate(entries())])
            streamlit.rerun()


def lamp() -> None:
    """The lamp's settings, in a Monaco editor."""
    settings = monaco_editor(
        LAMP.read_text() if LAMP.exists() else "lit: true\nhours:\n  - 18\n", height=200, key="lamp"
    )
    if streamlit.button("Keep the settings"):
        LAMP.write_text(settings["text"])
        streamlit.success("The lamp has them.")


if "keeper" in streamlit.session_state:
    log()
else:
    log_in()
