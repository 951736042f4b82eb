"""The measurements of RL, `perf.scale`, `perf.steps` and `perf.async_rl`, as commands on tiny runs."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from components.params import parse
from components.records import Reward, Task, Trajectory
from components.rollout import Group
from components.store import write_json, write_table
from components.worlds import worlds_of
from perf import async_rl, scale, steps
from tests.samples import shipped

pytestmark = pytest.mark.slow


def figures(capfd, monkeypatch, module, *arguments: str) -> dict:
    """The last line of a measurement that is run as a command."""
    monkeypatch.setattr(sys, "argv", [module.__name__, *arguments])
    module.main()
    return json.loads(capfd.readouterr().out.splitlines()[-1])


def tiny_recipe() -> dict:
    """Two attempts of one turn with a few tokens; a step of the optimiser has two turns."""
    raw = shipped("smoke")
    raw["worlds"]["miniwob"] |= {"train": ["click-test-2"], "heldout": [], "train_per_family": 8, "eval_per_family": 1}
    raw["browser"]["concurrency"] = 2
    raw["agent"]["max_response_tokens"] = 12
    raw["sft"]["epochs"] = 1
    raw["rl"] |= {"group_size": 2, "effective_groups": 1, "max_sampled_groups": 1, "batch_turns": 2}
    raw["rl"]["short"]["max_steps"] = 1
    return raw


def test_scale_measures_waves_a_stream_and_the_work_on_images(capfd, monkeypatch):
    line = figures(capfd, monkeypatch, scale, "--seeds", "1", "--open-groups", "48", "--images", "8")
    assert (line["recipe"], line["device"]) == ("openwebrl-4b", "B200")
    waves, stream = line["rollouts"]["waves"], line["rollouts"]["48 open groups"]
    assert 0 < waves["browsers_busy"] < stream["browsers_busy"] <= 1
    assert all(row["effective_groups"] <= row["groups"] and row["iteration_s"] > 0 for row in (waves, stream))
    images = line["images"]
    assert images["for_all"]["encodings_per_image"] == 1
    assert images["for_7"]["encodings_per_image"] > 1


def test_steps_compares_both_shuffles_on_groups_of_real_episodes():
    """So short a training leaves it to chance whether attempts differ, so the second one is called a success here."""
    params = parse(tiny_recipe())
    vlm, encoder = steps.loaded(params)
    sampled = asyncio.run(steps.sampled_groups(params, vlm, encoder, 2))
    with pytest.raises(SystemExit, match="none of 0 groups can be learned from: give more --tasks"):
        steps.compared(params, vlm, encoder, [], 1)
    groups = [replace(group, rewards=[a_reward(group, 0, 0.0), a_reward(group, 1, 1.0)]) for group in sampled]
    line = json.loads(json.dumps(steps.compared(params, vlm, encoder, groups, 1)))
    assert (line["effective_groups"], line["trained_turns"]) == (2, 4)
    for form in ("groups", "turns"):
        assert line[form].keys() == {"variance", "epoch_s"}
        assert line[form]["variance"] > 0
    assert {"variance_ratio", "time_ratio"} <= line.keys()


def a_reward(group: Group, member: int, value: float) -> Reward:
    return group.rewards[member].model_copy(update={"value": value, "masked": False})


@pytest.fixture
def run(tmp_path) -> Path:
    """A checkout up to SFT: its model is the base."""
    run, raw = tmp_path / "run", tiny_recipe()
    params = parse(raw)
    worlds = worlds_of(params)
    rows = [row for world in worlds for row in asyncio.run(world.tasks(params.seed, params.browser.viewport))]
    tasks = [Task.model_validate(row) for row in rows if "error" not in row]
    write_table(run / "data/pools/rl.parquet", Task, [task for task in tasks if task.split == "train"])
    write_table(run / "data/pools/validation.parquet", Task, [])
    write_json(run / "data/tasks/worlds.json", {world.name: world.episode_settings() for world in worlds})
    write_table(run / "data/sft/trajectories.parquet", Trajectory, [])
    shutil.copytree("data/base_model", run / "models/sft")
    (run / "params.yaml").write_text(yaml.safe_dump(raw))
    return run


@pytest.mark.timeout(600)
def test_async_rl_compares_both_arms_of_a_run(capfd, monkeypatch, run):
    line = figures(capfd, monkeypatch, async_rl, str(run), "--delay", "0.1", "--iterations", "1")
    assert (line["delay_s"], line["iterations"]) == (0.1, 1)
    [result] = line["runs"]
    assert result["run"] == "run"
    for arm in async_rl.ARMS:
        assert len(result[arm]["pool_rewards"]) == 1
        assert result[arm]["rollout_s"] > 0
    assert result["speed_up"] > 0
    assert result["limit"] >= 1
