"""The flow against a real (ephemeral) Prefect API and real DVC, on a toy project."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from flows import process
from flows.clone_lock import only_pipeline
from flows.crash_safe_dvc import StageFailed
from flows.pipeline import pipeline
from tests.flows.conftest import FINAL, make_project, ran

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import json, sys
from pathlib import Path
from flows import process
from flows.demo import configure_prefect
configure_prefect(Path.cwd())
process.own_children(Path.cwd())
from flows.pipeline import PipelineFailed, pipeline
try:
    print("OUTCOME", json.dumps(pipeline(side_by_side=2)))
except PipelineFailed as error:
    print("FAILED", error)
    raise SystemExit(1)
"""
ASK = """
import json
from pathlib import Path
from flows.demo import configure_prefect
configure_prefect(Path.cwd())
from prefect.client.orchestration import get_client
with get_client(sync_client=True) as client:
    artifacts = [{"key": one.key, "type": one.type, "data": one.data} for one in client.read_artifacts()]
    tasks = [{"name": one.name, "state": one.state_name} for one in client.read_task_runs()]
print("ASKED", json.dumps({"artifacts": artifacts, "tasks": tasks}))
"""


def test_a_flow_run_of_another_recipe_waits_for_the_one_in_its_clone(project: Path, monkeypatch) -> None:
    monkeypatch.chdir(project)
    (project / "params.yaml").write_text("name: demo\n")
    with only_pipeline(project), pytest.raises(StageFailed, match=f"another pipeline .* runs in {project}: wait"):
        pipeline.fn(recipe="smoke")
    assert (project / "params.yaml").read_text() == "name: demo\n"


def start(program: str, root: Path) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment["PYTHONPATH"] = str(ROOT)
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=root,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def said(text: str, word: str) -> dict:
    lines = [line.removeprefix(word) for line in text.splitlines() if line.startswith(word + " ")]
    assert lines, text
    return json.loads(lines[-1])


@pytest.mark.slow
def test_each_stage_is_a_task_with_progress_and_artifacts_and_runs_once(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", seconds=4)
    first, _ = start(RUN, project).communicate(timeout=240)
    assert said(first, "OUTCOME") == dict.fromkeys(["collect", "train@left", "train@right", "report"], "ran")
    assert (project / "reports/report.txt").read_text() == FINAL

    text, _ = start(ASK, project).communicate(timeout=120)
    asked = said(text, "ASKED")
    assert {(one["name"], one["state"]) for one in asked["tasks"]} == {
        (name, "Completed") for name in ("collect", "train@left", "train@right", "report")
    }
    artifacts = {one["key"]: one for one in asked["artifacts"]}
    for stage in ("collect", "train-left", "train-right", "report"):
        assert artifacts[f"{stage}-progress"]["type"] == "progress"
        assert artifacts[f"{stage}-metrics"]["type"] == "table"
        assert "nested.deep" in artifacts[f"{stage}-metrics"]["data"]
        assert "████" in artifacts[f"{stage}-funnel"]["data"]
        assert "▁▃▅▇█" in artifacts[f"{stage}-iterations"]["data"]

    second, _ = start(RUN, project).communicate(timeout=240)
    assert said(second, "OUTCOME") == dict.fromkeys(["collect", "train@left", "train@right", "report"], "up to date")
    assert sorted(ran(project)) == ["collect", "report", "train@left", "train@right"]


@pytest.mark.slow
def test_a_failed_stage_stops_only_stages_that_need_it(project: Path) -> None:
    yaml = (project / "dvc.yaml").read_text()
    assert "right: {}" in yaml
    (project / "dvc.yaml").write_text(
        yaml.replace("python stage.py train@", "test ${key} = right && python stage.py train@")
    )
    flow = start(RUN, project)
    text, _ = flow.communicate(timeout=240)
    assert flow.returncode == 1
    assert "FAILED train@left" in text
    assert ran(project) == ["collect", "train@right"]


@pytest.mark.slow
def test_a_run_does_not_go_on_with_another_recipe(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", seconds=6)
    text = (project / "dvc.yaml").read_text()
    (project / "dvc.yaml").write_text(text.replace('outs: ["models', 'params: [lr]\n      outs: ["models'))
    (project / "params.yaml").write_text("lr: 1.0\n")
    flow = start(RUN, project)
    wait_for_stage(project, "collect")
    (project / "params.yaml").write_text("lr: 0.5\n")
    output, _ = flow.communicate(timeout=240)
    assert flow.returncode == 1
    assert "train@left: lr in params.yaml changed since this run began" in " ".join(output.split())
    assert ran(project) == ["collect"]


@pytest.mark.slow
def test_a_killed_stage_is_retried(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", seconds=6)
    flow = start(RUN, project)
    child = wait_for_stage(project, "collect")
    child.kill()
    text, _ = flow.communicate(timeout=240)
    assert said(text, "OUTCOME")["collect"] == "ran"
    assert ran(project).count("collect") == 1


@pytest.mark.slow
def test_a_stage_that_is_killed_twice_fails_the_flow(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", seconds=60)
    flow = start(RUN, project)
    for _ in range(2):
        child = wait_for_stage(project, "collect")
        child.kill()
    text, _ = flow.communicate(timeout=240)
    assert flow.returncode == 1
    assert "FAILED collect" in text


@pytest.mark.slow
@pytest.mark.parametrize("signal_number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.exhaustive)])
def test_a_stopped_flow_leaves_no_process_and_the_next_run_continues(tmp_path: Path, signal_number: int) -> None:
    project = make_project(tmp_path / "project", seconds=60)
    flow = start(RUN, project)
    child = wait_for_stage(project, "collect")
    mark = child.environ()[process.MARK]
    flow.send_signal(signal_number)
    flow.communicate(timeout=60)
    assert flow.returncode != 0
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE  # until its new parent looks at it
    assert not process._marked_processes(mark)
    yaml = (project / "dvc.yaml").read_text()
    (project / "dvc.yaml").write_text(yaml.partition("  train:")[0].replace(" 60 ", " 0.05 "))
    text, _ = start(RUN, project).communicate(timeout=240)
    assert said(text, "OUTCOME") == {"collect": "ran"}


def wait_for_stage(project: Path, stage: str) -> psutil.Process:
    """The process of a stage's command, once it has reported progress or is seen."""
    record = project / process.CALLS / f"{stage}.json"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        time.sleep(0.1)
        try:
            mark = json.loads(record.read_text())["mark"]
            for one in process._marked_processes(mark):
                if one.cmdline()[1:2] == ["stage.py"]:
                    return one
        except (FileNotFoundError, ValueError, psutil.Error):
            continue
    raise AssertionError(f"{stage} never started")
