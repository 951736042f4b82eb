"""A study's file is checked before work starts, and each error names what to change."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.params import RecipeError
from components.study import load_study, plan

ROOT = Path(__file__).parents[2]
GOOD = {
    "question": "Does it help?",
    "recipe": "smoke",
    "base": "plain",
    "arms": {"symmetric": {"set": {"rl": {"objective": {"clip_high": 0.2}}}}},
    "seeds": [0, 1, 2],
}


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


def written(folder: Path, name: str = "mine.yaml", **changes) -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(GOOD | changes, sort_keys=False))
    return path


def refusal(folder: Path, **changes) -> str:
    with pytest.raises(RecipeError) as error:
        load_study(written(folder, **changes))
    return str(error.value)


def test_every_arm_runs_with_every_seed_and_the_base_first(tmp_path):
    study = load_study(written(tmp_path, arms=GOOD["arms"] | {"large": {"set": {"rl": {"group_size": 4}}}}))
    assert [run.name for run in study.runs] == [
        *("plain-seed0", "plain-seed1", "plain-seed2"),
        *("symmetric-seed0", "symmetric-seed1", "symmetric-seed2"),
        *("large-seed0", "large-seed1", "large-seed2"),
    ]
    assert [run.params.seed for run in study.runs] == [0, 1, 2] * 3


def test_an_arm_sets_its_keys_and_no_others(tmp_path):
    study = load_study(written(tmp_path))
    assert [(change.key, change.old, change.new) for change in study.changed("symmetric")] == [
        ("rl.objective.clip_high", 0.28, 0.2)
    ]
    assert study.changed("plain") == []


def test_an_arm_may_choose_another_kind_of_section(tmp_path):
    study = load_study(written(tmp_path, arms={"bc": {"set": {"rl": {"objective": {"name": "filtered_bc"}}}}}))
    assert [run.params.rl.objective.name for run in study.runs] == ["mm_grpo"] * 3 + ["filtered_bc"] * 3


def test_keys_that_all_runs_set_reach_the_base_too(tmp_path):
    study = load_study(written(tmp_path, set={"rl": {"group_size": 4}}))
    assert {run.params.rl.group_size for run in study.runs} == {4}


def test_a_run_registers_its_models_in_a_store_of_its_own(tmp_path):
    study = load_study(written(tmp_path))
    assert {run.params.tracking.tracking_uri for run in study.runs} == {"sqlite:///mlflow/store/mlflow.db"}


def test_the_plan_has_a_complete_recipe_for_every_run(tmp_path):
    runs = plan(load_study(written(tmp_path)))["runs"]
    recipe = yaml.safe_load(runs[4]["params"])
    assert (runs[4]["name"], recipe["seed"], recipe["rl"]["objective"]["clip_high"]) == ("symmetric-seed1", 1, 0.2)
    assert recipe["agent"]["max_format_errors"] == 3, "a default that no file names"


def test_an_unknown_key_is_refused_with_the_arm_that_sets_it(tmp_path):
    message = refusal(tmp_path, arms={"odd": {"set": {"rl": {"clip": 0.2}}}})
    assert "arm odd: rl.clip = 0.2: unknown field; allowed here:" in message


def test_an_unknown_field_of_the_study_is_refused(tmp_path):
    assert "repeats = 3: unknown field; allowed here: arms, base, compare" in refusal(tmp_path, repeats=3)


def test_an_arm_equal_to_the_base_is_refused(tmp_path):
    message = refusal(tmp_path, arms={"same": {"set": {"rl": {"objective": {"clip_high": 0.28}}}}})
    assert "arms.same: its recipe is equal to that of the base (plain)" in message


def test_two_equal_arms_are_refused(tmp_path):
    arm = {"set": {"rl": {"group_size": 4}}}
    assert "arms.b: its recipe is equal to that of the arm a" in refusal(tmp_path, arms={"a": arm, "b": arm})


@pytest.mark.parametrize("seeds", [[], [0], [0, 1]])
def test_fewer_than_three_seeds_are_refused(tmp_path, seeds):
    assert "a study needs at least 3 seeds, such as [0, 1, 2]" in refusal(tmp_path, seeds=seeds)


def test_a_repeated_seed_is_refused(tmp_path):
    assert "[1] is listed twice" in refusal(tmp_path, seeds=[0, 1, 1, 2])


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_outside_of_the_limits_is_refused(tmp_path, seed):
    assert f"seeds.2 = {seed}: Input should be " in refusal(tmp_path, seeds=[0, 1, seed])


def test_two_arms_of_one_name_are_refused(tmp_path):
    path = written(tmp_path)
    path.write_text(path.read_text() + "set: {}\nset: {}\n")
    with pytest.raises(RecipeError, match="found 'set' twice"):
        load_study(path)
    arms = "arms:\n  a: {set: {rl: {group_size: 4}}}\n  a: {set: {rl: {group_size: 6}}}\n"
    path.write_text("question: q\nrecipe: smoke\nseeds: [0, 1, 2]\n" + arms)
    with pytest.raises(RecipeError, match="found 'a' twice"):
        load_study(path)


def test_an_arm_with_the_name_of_the_base_is_refused(tmp_path):
    assert "'symmetric' is the name of an arm, too" in refusal(tmp_path, base="symmetric")


@pytest.mark.parametrize("name", ["Large", "a b", "../a", ""])
def test_a_name_that_is_no_folder_is_refused(tmp_path, name):
    assert "match pattern" in refusal(tmp_path, arms={name: GOOD["arms"]["symmetric"]})


@pytest.mark.parametrize(("key", "value"), [("seed", 3), ("name", "x"), ("tracking", {}), ("extends", "demo")])
def test_keys_that_a_study_sets_itself_are_refused_in_an_arm(tmp_path, key, value):
    assert f"arms.odd.set.{key}:" in refusal(tmp_path, arms={"odd": {"set": {key: value}}})


def test_a_missing_study_is_refused_with_the_names_of_the_shipped_ones(tmp_path):
    with pytest.raises(RecipeError, match="no such study; there are clip, demonstrations, difficulty, draws, dynamic-"):
        load_study(tmp_path / "none.yaml")


def test_an_impossible_recipe_of_an_arm_is_refused(tmp_path):
    message = refusal(tmp_path, arms={"odd": {"set": {"rl": {"max_sampled_groups": 1}}}})
    assert "max_sampled_groups = 1 must be at least effective_groups = 2" in message


def test_a_claim_says_how_its_setting_differs(tmp_path):
    claim = {"source": "OpenWebRL, table 4", "sign": "lower"}
    arm = GOOD["arms"]["symmetric"] | {"paper": claim}
    assert "arms.symmetric.paper.differs: is missing" in refusal(tmp_path, arms={"symmetric": arm})
