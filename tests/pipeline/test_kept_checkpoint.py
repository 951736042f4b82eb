"""The checkpoint of a finished training stays until DVC has recorded the outputs, and no longer."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from components.params import complete
from components.pipeline import stage_code
from components.pipeline.kept_checkpoint import delete_recorded
from components.pipeline.stage_run import stage
from tests.flows.conftest import make_repository

ROOT = Path(__file__).parents[2]
RESULT = Path("reports/stages/trainer.json")


@pytest.fixture(autouse=True)
def project(tmp_path, mlflow_database, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DVC_STAGE", "trainer")
    Path("params.yaml").write_text(complete(ROOT / "recipes/smoke.yaml"))
    monkeypatch.setattr(stage_code, "code_files", lambda worlds: {"components/work.py": Path("work.py")})
    Path("work.py").write_text("this code")


def train() -> bool:
    """A stage that trains if it has no checkpoint; returns whether it did."""
    with stage("trainer", keeps_work=False) as run:
        run.checkpoint = run.state / "training.pt"
        trains = not run.checkpoint.exists()
        run.checkpoint.write_text("weights")
    return trains


def checkpoints() -> list[Path]:
    return list(Path(".waymark/state/trainer").glob("*/training.pt"))


def record() -> None:
    """Write what DVC writes when it has stored the outputs."""
    entry = {"path": str(RESULT), "hash": "md5", "md5": hashlib.md5(RESULT.read_bytes()).hexdigest()}
    Path("dvc.lock").write_text(yaml.safe_dump({"stages": {"trainer": {"cmd": "x", "outs": [entry]}}}))


def test_the_run_after_one_that_dvc_did_not_record_trains_nothing():
    assert train()
    assert not train()


def test_the_run_after_one_that_dvc_recorded_trains_anew():
    train()
    train()
    record()
    assert train()


def test_the_next_stage_deletes_the_checkpoint_of_a_recorded_one():
    train()
    assert checkpoints()
    with stage("next"):
        assert checkpoints(), "not recorded yet"
    record()
    with stage("next"):
        assert not checkpoints()


@pytest.mark.parametrize(
    "text", ["", "stages:", "stages: {trainer: {outs: [{", "null", "stages: {trainer: {outs: [x]}}"]
)
def test_a_damaged_dvc_lock_records_nothing(text):
    train()
    Path("dvc.lock").write_text(text)
    assert not train()


def test_other_code_trains_anew():
    train()
    Path("work.py").write_text("other code")
    assert train()


def test_without_dvc_no_checkpoint_is_kept(monkeypatch):
    train()
    monkeypatch.delenv("DVC_STAGE")
    assert not train()
    assert not checkpoints()
    assert train()


PROGRAM = """
from components.pipeline.stage_run import stage
with stage("trainer", keeps_work=False) as run:
    run.checkpoint = run.state / "training.pt"
    run.checkpoint.write_text("weights")
"""


@pytest.mark.slow
def test_what_dvc_itself_records_is_recognised(monkeypatch):
    monkeypatch.delenv("DVC_STAGE")
    make_repository(Path.cwd())
    Path("train.py").write_text(PROGRAM)
    metrics = [{str(RESULT): {"cache": False}}]
    Path("dvc.yaml").write_text(yaml.safe_dump({"stages": {"trainer": {"cmd": "python train.py", "metrics": metrics}}}))
    environment = {"PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "dvc", "repro"]
    subprocess.run(command, env=os.environ | environment, check=True, capture_output=True)
    assert checkpoints(), "the stage ended before DVC recorded it"
    delete_recorded()
    assert not checkpoints()
