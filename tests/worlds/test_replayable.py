"""Branches are refused on a world that does not say that the same calls lead to the same state."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.params import RecipeError, parse
from components.pipeline.stage_run import WORLD_SETTINGS
from components.records import Task
from components.stages import train_rl
from components.store import write_json, write_table
from components.worlds import WorldError, installed_worlds, worlds_of
from tests.samples import a_task, raw_recipe, shipped

REMEDY = r"worlds\.live: rl\.branches .*Set rl\.branches to null.*Live\.replayable = True"
BRANCHES = {"per_group": 2, "continuations": 2}
LIVE = {"live": {"independent_episodes": True}}
TEACHER = {"policy": "endpoint", "endpoint": {"url": "http://x/v1", "model": "m"}, "tasks": 1}


def test_a_recipe_with_branches_on_such_a_world_is_refused():
    branched = parse(raw_recipe(worlds=LIVE, teacher=TEACHER, rl__branches=BRANCHES))
    with pytest.raises(RecipeError, match=REMEDY):
        worlds_of(branched).require_possible(branched)
    plain = parse(raw_recipe(worlds=LIVE, teacher=TEACHER))
    worlds_of(plain).require_possible(plain)


def test_a_recipe_with_branches_on_a_replayable_world_is_possible():
    branched = parse(raw_recipe(rl__branches=BRANCHES))
    worlds_of(branched).require_possible(branched)
    assert {world.name for world in installed_worlds() if world.replayable} >= {"city", "miniwob"}


@pytest.mark.slow
def test_rl_with_branches_is_refused_before_any_model_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    recipe = shipped("smoke") | {"worlds": LIVE, "teacher": TEACHER}
    recipe["rl"] |= {"branches": BRANCHES}
    recipe["rl"]["objective"]["replay"] = 0.0  # RL reads no demonstrations, which this project lacks
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    write_json(WORLD_SETTINGS, {})
    for pool in (train_rl.POOL, train_rl.VALIDATION):
        write_table(pool, Task, [a_task(0, start_url="http://example.org/", website="example.org", source="own")])
    (tmp_path / "models/sft").mkdir(parents=True)
    with pytest.raises(WorldError, match=REMEDY):
        train_rl.main("short")
