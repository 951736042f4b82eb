"""Settings of RL that do not fit the tasks are refused before any model is loaded, and MLflow has what falls."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import yaml
from mlflow import MlflowClient

from components import tracking
from components.pipeline.stage_run import WORLD_SETTINGS, StageRun, _Clock
from components.records import Task, Trajectory
from components.stages import train_rl
from components.stages.train_rl import _report_validation, require_tasks
from components.statistics import wilson
from components.store import read_json, write_json, write_table
from components.training.validation import Validation, ValidationWarning
from components.training.workers import SINGLE_PROCESS
from tests.samples import a_task, a_trajectory, raw_recipe, recipe
from tests.training.validations import figures, watched
from tests.vlm import random_vlm

POOL = [a_task()]
VALIDATION = [a_task().model_copy(update={"task_id": "v", "split": "validation"})]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rl__task_sampling": {"name": "ratio", "easy": 1, "medium": 1, "hard": 1}}, "needs every task's number"),
        ({"rl__objective": {"name": "rft", "max_per_source": {"nq": 400}}}, r"max_per_source limits nq, .* miniwob"),
    ],
)
def test_settings_that_the_pool_cannot_have_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        require_tasks(recipe(**changes), POOL, VALIDATION)


def test_validation_without_tasks_of_trained_families_is_refused():
    params = recipe(rl__validation={"every": 2, "tasks": 4})
    heldout = [VALIDATION[0].model_copy(update={"split": "heldout_validation"})]
    require_tasks(params, POOL, VALIDATION)
    with pytest.raises(ValueError, match=r"validation\.every = 2 asks .* has no task of the trained families"):
        require_tasks(params, POOL, heldout)
    require_tasks(recipe(), POOL, [])


def test_limits_of_sources_that_the_pool_has_are_accepted():
    require_tasks(recipe(rl__objective={"name": "rft", "max_per_source": {POOL[0].source: 400}}), POOL, [])


def test_a_phase_of_0_iterations_starts_nothing(tmp_path, mlflow_database, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(yaml.safe_dump(raw_recipe(rl__short__iterations=0)))
    write_table(train_rl.POOL, Task, POOL)
    write_table(train_rl.VALIDATION, Task, VALIDATION)
    write_table(train_rl.DEMONSTRATIONS, Trajectory, [a_trajectory()])
    write_json(WORLD_SETTINGS, {})
    random_vlm().save(train_rl.SFT)
    for name in ("_train", "open_pool", "JudgeClients", "training_policies"):
        monkeypatch.delattr(train_rl, name)
    train_rl.run_stage(SINGLE_PROCESS, "short")
    result = read_json(Path("reports/stages/train_rl@short.json"))
    assert (result["iterations"], result["published"]["iteration"]) == ([], 0)
    weights = [Path(model, "model.safetensors").read_bytes() for model in (train_rl.SFT, "models/rl-short")]
    assert weights[0] == weights[1]


def test_mlflow_has_the_intervals_and_the_warnings_of_validations(tmp_path, mlflow_database, monkeypatch):
    """Also those before a kill, after which the run reports its last validation again."""
    monkeypatch.chdir(tmp_path)

    def fallen(iteration: int, family: str) -> Validation:
        warning = ValidationWarning(name=family, text=f"{family} falls")
        return watched(iteration, [figures("click tab", 0.5, 4, 0.17, 15)]).model_copy(update={"warnings": [warning]})

    first, second = fallen(6, "click tab"), fallen(12, "focus-text")
    for reported in ([[first]], [[first], [first, second]]):
        with tracking.stage_run(recipe(), "train_rl@short", "key", tmp_path) as tracker:
            clock = _Clock(tmp_path / "spans.json")
            run = StageRun("train_rl@short", recipe(), "key", tmp_path, tracker, clock)
            list(map(partial(_report_validation, run), reported))
    client = MlflowClient()
    logged = client.get_run(tracker.run_id).data
    name = "validation.families.click tab"
    interval = wilson(0.5, 4)
    assert logged.metrics[f"{name}.n"] == 4
    assert (logged.metrics[f"{name}.rate_low"], logged.metrics[f"{name}.rate_high"]) == tuple(interval)
    steps = [(point.step, point.value) for point in client.get_metric_history(tracker.run_id, "validation.warnings")]
    assert steps == [(6, 1.0), (12, 1.0)]
    table = json.loads(Path(client.download_artifacts(tracker.run_id, "warnings.json")).read_text())
    assert table["columns"] == ["iteration", "name", "warning"]
    assert table["data"] == [[6, "click tab", "click tab falls"], [12, "focus-text", "focus-text falls"]]
