"""A lighthouse's log, made with Streamlit: it keeps what is sent in a JSON file."""

import json
import os
from pathlib import Path

import streamlit

STATE = Path(os.environ["STATE"])
LOG = STATE / "log.json"
FIRST = {"text": "The tower was painted.", "keeper": "olaf"}


def entries() -> list[dict]:
    """The log."""
    return json.loads(LOG.read_text()) if LOG.exists() else [FIRST]


@streamlit.dialog("Clear the oldest entry?")
def clear() -> None:
    """Ask, then remove the oldest entry."""
    streamlit.write("This cannot be undone.")
    if streamlit.button("Yes, clear it"):
        LOG.write_text(json.dumps(entries()[1:]))
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
    """The form and the entries."""
    streamlit.title("The log")
    section = streamlit.sidebar.radio("Section", ["Write", "Read"])
    if section == "Read":
        streamlit.dataframe(entries())
        if streamlit.button("Clear the oldest entry"):
            clear()
        return
    text = streamlit.text_area("What happened")
    weather = streamlit.selectbox("Weather", ["Calm", "Fog", "Storm"])
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
        LOG.write_text(json.dumps([*entries(), record]))
        streamlit.success("It is in the log.")


log() if "keeper" in streamlit.session_state else log_in()
