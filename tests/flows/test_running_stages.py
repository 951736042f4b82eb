"""Stages that other processes run in a clone, with real DVC, when a pipeline begins there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prefect.logging import disable_run_logger

from components.params.loading import complete
from flows import graph, process
from flows.clone_lock import CloneInUse
from flows.crash_safe_dvc import repair
from flows.pipeline import is_in_use, pipeline
from flows.running_stages import stages_of_workers
from tests.flows.conftest import make_project

ROOT = Path(__file__).resolve().parents[2]
OF_WORKER = """
from pathlib import Path
from flows.crash_safe_dvc import repro
from flows.placement.worker import _marked
with _marked("collect", Path.cwd()):
    repro("collect")
"""


@contextmanager
def running(root: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs `collect`, whose command has begun; it is killed at the end with all that it started."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), process.MARK: "of-this-test"}
    with subprocess.Popen([sys.executable, *command], cwd=root, env=environment) as started:
        try:
            while not (root / ".waymark/progress/collect.json").exists():
                assert started.poll() is None
                time.sleep(0.1)
            yield started
        finally:
            process.end("of-this-test")
            started.kill()


def test_a_recipe_is_not_put_in_use_beside_a_plain_dvc_repro(tmp_path: Path, monkeypatch) -> None:
    project = make_project(tmp_path / "project", seconds=240)
    (project / "stage.py").write_text((project / "stage.py").read_text().replace("steps = 4", "steps = 400"))
    (project / "params.yaml").write_text("name: demo\n")
    monkeypatch.chdir(project)
    with running(project, "-m", "dvc", "repro", "collect") as dvc:
        with disable_run_logger(), pytest.raises(CloneInUse, match=f"process {dvc.pid} works in .*repro collect"):
            pipeline.fn(recipe="smoke")
        with pytest.raises(CloneInUse, match="try again when it has ended") as refusal:
            graph.read(project, with_status=True)
    assert "rwlock" not in str(refusal.value)
    assert (project / "params.yaml").read_text() == "name: demo\n"


def test_a_stage_of_a_worker_is_due_again_and_ends_with_its_flow(tmp_path: Path, monkeypatch) -> None:
    project = make_project(tmp_path / "project", seconds=240)
    (project / "stage.py").write_text((project / "stage.py").read_text().replace("steps = 4", "steps = 400"))
    (project / "params.yaml").write_text("name: demo\n")
    monkeypatch.chdir(project)
    with running(project, "-c", OF_WORKER) as flow:
        repair(project)
        assert list(stages_of_workers(project)) == ["collect"]
        stages = graph.read(project, with_status=True, running=["collect"])
        assert (stages["collect"].stale, graph.to_run(stages)) == ("runs at present", set(stages))
        with disable_run_logger(), pytest.raises(CloneInUse, match="while workers run stages in this clone: collect"):
            pipeline.fn(recipe="smoke")
        with disable_run_logger(), pytest.raises(CloneInUse, match=f"no pool for it: .*stop it with `kill {flow.pid}`"):
            pipeline.fn()
        flow.kill()
        flow.wait()
        assert stages_of_workers(project) == {}
    assert (project / "params.yaml").read_text() == "name: demo\n"


def test_a_recipe_is_in_use_only_if_using_it_changes_no_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = ROOT / "recipes/smoke.yaml"
    assert not is_in_use(str(recipe))
    (tmp_path / "params.yaml").write_text(complete(recipe))
    assert is_in_use(str(recipe))
    assert not is_in_use(str(ROOT / "recipes/demo.yaml"))
