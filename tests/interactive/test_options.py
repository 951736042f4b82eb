"""Settings of `waymark run`: who answers the dialogs of pages."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.interactive import RunOptions, dialogs_of
from components.interactive.options import PERSON_DIALOG_S, recipe_of_run
from components.params import complete, find, load
from tests.samples import raw_recipe


@pytest.fixture
def recipe(tmp_path: Path):
    """`recipe(dialogs, name)` writes a recipe, with `browser.dialogs` if it is given, and returns its file."""

    def write(dialogs: str | None = None, name: str = "mine.yaml", **keys: object) -> Path:
        raw = raw_recipe(**keys) if keys else raw_recipe()
        if dialogs is not None:
            raw.setdefault("browser", {})["dialogs"] = dialogs
        (tmp_path / name).write_text(yaml.dump(raw))
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("dialogs", "choice"), [(None, None), ("accept", "accept"), ("ask", None), ("ask_or_dismiss", None)]
)
def test_only_a_recipe_that_says_accept_itself_is_obeyed(recipe, dialogs, choice):
    file = recipe(dialogs)
    assert dialogs_of(file, load(file)) == choice


def test_a_recipe_that_extends_one_that_says_accept_is_obeyed():
    file = find(Path("webagent-r1-4b"))
    assert dialogs_of(file, load(file)) == "accept"


def test_the_accept_of_params_yaml_is_nobodys_choice(recipe, tmp_path):
    file = tmp_path / "params.yaml"
    file.write_text(complete(recipe()))
    assert "dialogs: accept" in file.read_text()
    assert dialogs_of(file, load(file)) is None


@pytest.mark.parametrize("by_person", [True, False])
@pytest.mark.parametrize(("option", "dialogs"), [(None, "ask_or_dismiss"), ("ask", "ask_or_dismiss"), ("accept",) * 2])
def test_dialogs_are_answered_unless_accept_is_chosen(recipe, by_person, option, dialogs):
    options = RunOptions("look", "http://a/", by_person=by_person, dialogs=option)
    browser = recipe_of_run(load(recipe("ask")), options).browser
    assert browser.dialogs == dialogs
    assert (browser.dialog_wait_s == PERSON_DIALOG_S) == by_person
