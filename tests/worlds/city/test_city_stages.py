"""The pipeline's stages on the city: tasks, demonstrations of the oracles with mistakes, and verdicts by state."""

from __future__ import annotations

import io
import json
from pathlib import Path

import PIL.Image
import pyarrow.parquet as pq
import pytest
import yaml

from components.cli.main import main
from components.records import Outcome, Task, Trajectory, Verdict
from components.stages import collect_tasks, dedup_tasks, filter_tasks, label_trajectories, teacher_rollouts
from components.store import read_json, read_table
from components.worlds.city.image import CACHE, ENVIRONMENT, LOCK
from tests.samples import shipped

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(image, tmp_path, monkeypatch) -> None:
    """A project whose recipe has the city alone, with the environment and the image of this one."""
    for path in (ENVIRONMENT, LOCK, CACHE):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).symlink_to(ROOT / path)
    monkeypatch.chdir(tmp_path)
    recipe = shipped("smoke")
    recipe["worlds"] = {
        "city": {
            "train": ["shop_add_to_basket"],
            "train_per_template": 3,
            "eval_per_template": 1,
            "heldout_per_template": 1,
            "heldout_modifiers": ["theme"],
        }
    }
    recipe["browser"] |= {"viewport": [1280, 720], "start_timeout_s": 60, "step_timeout_s": 60}
    recipe["teacher"] |= {"noise": 1.0, "tasks": 3, "attempts": 3, "max_steps": 12}
    Path("params.yaml").write_text(yaml.safe_dump(recipe))


@pytest.mark.exhaustive
def test_demonstrations_are_labelled_by_what_changed(project):
    for stage in (collect_tasks, filter_tasks, dedup_tasks, teacher_rollouts, label_trajectories):
        stage.main()
    tasks = [
        task for split in ("sft", "rl", "eval", "heldout") for task in read_table(f"data/pools/{split}.parquet", Task)
    ]
    assert {(task.split, task.evaluator["variant"]) for task in tasks} == {
        ("train", "plain"),
        ("eval", "plain"),
        ("heldout", "theme"),
    }
    trajectories = read_table(teacher_rollouts.OUT, Trajectory)
    outcomes = {
        verdict.trajectory_id: verdict.outcome for verdict in read_table("data/teacher/verdicts.parquet", Verdict)
    }
    checks = [trajectory.state_check for trajectory in trajectories]
    assert all(check is not None for check in checks)
    assert {check.reward for check in checks} == {0.0, 1.0}, "a mistake need not matter, such as a shorter search"
    for trajectory, check in zip(trajectories, checks, strict=True):
        expected = Outcome.SUCCESS if check.reward == 1 else Outcome.FAILURE
        assert outcomes[trajectory.trajectory_id] is expected
    assert "city" in str(read_json("data/tasks/worlds.json"))

    assert main(["export", "out", "--licence", "apache-2.0"]) == 0
    episodes = pq.read_table("out/episodes/train-00000.parquet").to_pylist()
    assert [episode["success"] for episode in episodes] == [check.reward == 1 for check in checks]
    assert [len(json.loads(episode["changes"])) for episode in episodes] == [len(check.changes) for check in checks]
    turns = pq.read_table("out/turns/train-00000.parquet").to_pylist()
    assert len(turns) == sum(len(trajectory.turns) for trajectory in trajectories)
    assert PIL.Image.open(io.BytesIO(turns[0]["screenshot"]["bytes"])).size == (1280, 720)
