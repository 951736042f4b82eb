"""The stage that trains the policy on demonstrations, as its own command runs it, killed in its training."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from components.records import Trajectory
from components.store import read_json, write_table
from tests.samples import a_task, a_trajectory, shipped

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
STAGE = """
import runpy
from components.training import training_state
training_state.LEAST_INTERVAL_S, training_state.WRITING_SHARE = 0.0, 1e9
runpy.run_module("components.stages.train_sft", run_name="__main__")
"""
"""The stage with a checkpoint after each step."""


def prepare(where: Path) -> None:
    where.mkdir()
    recipe = shipped("smoke")
    recipe["model"] |= {"base": str(ROOT / "data/base_model"), "judge_base": str(ROOT / "data/base_model")}
    recipe["sft"] |= {"epochs": 6, "batch_size": 4}
    (where / "params.yaml").write_text(yaml.safe_dump(recipe))
    write_table(
        where / "data/sft/trajectories.parquet", Trajectory, [a_trajectory(a_task(seed), turns=2) for seed in range(8)]
    )


FAILS_AT_ITS_END = """
from components.pipeline import stage_run
def changed(name, params):
    raise stage_run.RecipeChanged("sft.epochs changed")
stage_run._require_same_recipe = changed
"""
NEVER_TRAINS = """
from components.training import training_state
training_state.SupervisedCheckpoint.save_if_due = None
"""


def begin(where: Path, before: str = "", **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", before + STAGE],
        cwd=where,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        stdout=subprocess.DEVNULL,
    )


def test_a_stage_that_is_killed_in_its_training_makes_the_same_model(tmp_path, mlflow_database):
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    for where in (undisturbed, disturbed):
        prepare(where)
    assert begin(undisturbed).wait(timeout=200) == 0
    with begin(disturbed) as killed:
        began = time.monotonic()
        while not list(disturbed.glob(".waymark/state/train_sft/*/training.pt")):
            assert killed.poll() is None, "it ended before it could be killed"
            assert time.monotonic() - began < 200, "no checkpoint was written"
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    assert not (disturbed / "models/sft").exists()
    assert begin(disturbed).wait(timeout=200) == 0
    results = [read_json(where / "reports/stages/train_sft.json") for where in (undisturbed, disturbed)]
    assert len(results[0]["losses"]) == 24
    assert results[0]["losses"] == results[1]["losses"]
    weights = [(where / "models/sft/model.safetensors").read_bytes() for where in (undisturbed, disturbed)]
    assert weights[0] == weights[1]
    assert not list(disturbed.glob(".waymark/state/train_sft/*/training.pt")), "it takes disk and is of no use now"


def test_a_stage_that_fails_at_its_end_keeps_what_it_trained(tmp_path, mlflow_database):
    """The end fails if params.yaml was changed meanwhile, which may be after hours of training."""
    prepare(tmp_path / "sft")
    assert begin(tmp_path / "sft", before=FAILS_AT_ITS_END).wait(timeout=200) != 0
    (checkpoint,) = (tmp_path / "sft").glob(".waymark/state/train_sft/*/training.pt")
    assert begin(tmp_path / "sft", before=NEVER_TRAINS).wait(timeout=200) == 0, "it trained again"
    assert len(read_json(tmp_path / "sft/reports/stages/train_sft.json")["losses"]) == 24
    assert not checkpoint.exists()


def test_a_model_that_dvc_did_not_record_is_not_trained_again(tmp_path, mlflow_database):
    """DVC may be killed while it copies the model, and deletes it before it runs the stage again."""
    prepare(tmp_path / "sft")
    assert begin(tmp_path / "sft", DVC_STAGE="train_sft").wait(timeout=200) == 0
    weights = (tmp_path / "sft/models/sft/model.safetensors").read_bytes()
    shutil.rmtree(tmp_path / "sft/models")
    assert begin(tmp_path / "sft", before=NEVER_TRAINS, DVC_STAGE="train_sft").wait(timeout=200) == 0
    assert (tmp_path / "sft/models/sft/model.safetensors").read_bytes() == weights
