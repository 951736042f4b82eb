"""A run of the pipeline is a run of one recipe."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.params import complete, load
from flows import graph
from flows.crash_safe_dvc import StageFailed
from flows.pipeline import use
from flows.recipe_in_use import RecipeInUse
from tests.flows.conftest import make_repository
from tests.samples import raw_recipe

ROOT = Path(__file__).resolve().parents[2]

DVC_YAML = """
stages:
  train:
    cmd: python train.py
    params: [lr]
    outs: [model]
  evaluate:
    cmd: python evaluate.py
    deps: [model]
    params: [test.steps]
    outs: [rate]
  other:
    cmd: python other.py
    params: [workers]
    outs: [count]
"""
RECIPE = "lr: 1.0\nworkers: 2\ntest: {steps: 4}\n"


@pytest.fixture
def recipe_in_use(tmp_path: Path) -> RecipeInUse:
    root = make_repository(tmp_path / "project")
    (root / "dvc.yaml").write_text(DVC_YAML)
    (root / "params.yaml").write_text(RECIPE)
    return RecipeInUse(root, graph.read(root))


def test_a_stage_starts_with_the_recipe_with_which_the_run_began(recipe_in_use: RecipeInUse, tmp_path: Path) -> None:
    (tmp_path / "project/params.yaml").write_text(f"# a comment\n{RECIPE}")
    recipe_in_use.require_unchanged("evaluate")


@pytest.mark.parametrize(("old", "new", "key"), [("1.0", "0.5", "lr"), ("4", "5", r"test\.steps")])
def test_a_stage_does_not_go_on_from_results_of_another_recipe(
    recipe_in_use: RecipeInUse, tmp_path: Path, old: str, new: str, key: str
) -> None:
    (tmp_path / "project/params.yaml").write_text(RECIPE.replace(old, new))
    with pytest.raises(StageFailed, match=f"^evaluate: {key} in params.yaml changed since this run began"):
        recipe_in_use.require_unchanged("evaluate")
    recipe_in_use.require_unchanged("other")


def test_keys_that_change_no_result_may_change_and_others_are_named(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "project")
    (root / "dvc.yaml").write_text(DVC_YAML.replace("params: [lr]", "params: [seed, browser, rl]"))
    values = yaml.safe_load(complete(ROOT / "recipes/smoke.yaml"))
    (root / "params.yaml").write_text(yaml.safe_dump(values))
    recipe_in_use = RecipeInUse(root, graph.read(root))
    values["browser"]["concurrency"] += 1
    (root / "params.yaml").write_text(yaml.safe_dump(values))
    recipe_in_use.require_unchanged("train")
    values["rl"]["short"]["max_steps"] += 1
    (root / "params.yaml").write_text(yaml.safe_dump(values))
    with pytest.raises(StageFailed, match=r"^train: rl\.short\.max_steps in params.yaml changed"):
        recipe_in_use.require_unchanged("train")


def test_a_run_of_a_recipe_keeps_a_params_yaml_changed_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("one", "two"):
        Path(f"{name}.yaml").write_text(yaml.safe_dump(raw_recipe(name=name)))
    Path("params.yaml").write_text(complete("one.yaml").replace("seed: 0", "seed: 7"))
    (line,) = use("two.yaml")
    assert line == "params.yaml was changed by hand (it differs from one.yaml in seed): it is kept as params.yaml.bak"
    assert load("params.yaml").name == "two"
    assert load("params.yaml.bak").seed == 7
