"""`waymark params --explain`: what a key of a recipe means."""

from __future__ import annotations

import re

import pytest

from components.cli.main import main
from components.params import RecipeError
from components.params.meaning import find_key


def test_a_key_has_type_default_meaning_and_its_value_in_the_recipe(capsys):
    assert main(["params", "demo", "--explain", "rl.objective.replay"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("rl.objective.replay (of mm_grpo): float, ≥ 0; default 0.0\nWeight of the loss of SFT")
    assert shown.endswith("In this recipe: 0.1\n")


def test_a_key_of_several_kinds_of_section_has_an_entry_for_each():
    assert [key.section for key in find_key("rl.objective.clip_high")] == ["m_grpo", "mm_grpo"]
    assert [key.default for key in find_key("rl.objective.clip_high")] == ["0.2", "0.28"]


def test_a_section_names_its_keys(capsys):
    assert main(["params", "demo", "--explain", "curate"]) == 0
    shown = capsys.readouterr().out
    assert "  max_per_website " in shown
    assert "In this recipe" not in shown


@pytest.mark.parametrize("key", ["worlds.city.train", "worlds.city"])
def test_keys_of_a_world_are_those_of_its_package(key):
    (found,) = find_key(key)
    assert "templates" in found.meaning
    assert ("train_per_template" in found.inner) == (key == "worlds.city")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("rl.objective.repaly", "rl.objective has no key 'repaly'; it has replay"),
        ("rrl.lr", "a recipe has no key 'rrl'; it has rl"),
        ("seed.x", "seed is no section and has no keys"),
        ("worlds.cty.train", "did you mean city?"),
        ("", "a recipe has no key ''"),
    ],
)
def test_an_unknown_key_is_refused_with_its_neighbours(key, said, capsys):
    with pytest.raises(RecipeError, match=re.escape(said)):
        find_key(key)
    assert main(["params", "demo", "--explain", key]) == 1
    assert said in capsys.readouterr().err
