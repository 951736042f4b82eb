"""prefect.yaml against a real Prefect server and a real process worker, started as docs/how-to/operate.md says."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from prefect.server.schemas.schedules import CronSchedule

from components.ports import free_port
from flows.clone_lock import CloneInUse, only_pipeline
from flows.evaluate import evaluate
from flows.ui import LEASES
from tests.flows.conftest import FINAL, make_project, ran
from tests.flows.prefect_server import Prefect

ROOT = Path(__file__).resolve().parents[2]
NIGHTLY = """
import json, pathlib
path = pathlib.Path("reports/stages/nightly.json")
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text(json.dumps({"stage": "nightly", "rate": 0.75, "families": {"click-button": {"rate": 1.0}}}))
"""

BENCHMARK = """
import json, pathlib, sys
assert sys.argv[1:6] == ["evaluate", "webvoyager-595", "--model", "champion", "--occasion"], sys.argv
assert sys.argv[7:] == ["--limit", "5", "--budget-minutes", "1.5"], sys.argv
path = pathlib.Path("reports/stages/benchmark@webvoyager-595.json")
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text(json.dumps({"stage": "benchmark@webvoyager-595", "status": "partial", "summary": {"rate": 0.5}}))
"""


def test_the_nightly_evaluation_is_scheduled_and_nothing_names_a_directory() -> None:
    text = (ROOT / "prefect.yaml").read_text()
    deployments = {one["name"]: one for one in yaml.safe_load(text)["deployments"]}
    assert set(deployments) == {"demo", "nightly"}
    assert deployments["nightly"]["schedules"] == [{"cron": "0 3 * * *", "timezone": "UTC", "active": True}]
    assert all(one["work_pool"]["name"] == "waymark" for one in deployments.values())
    assert all(one["concurrency_limit"] == 1 for one in deployments.values())
    assert "pull" not in yaml.safe_load(text)


def test_the_server_can_compute_when_the_nightly_evaluation_runs() -> None:
    deployments = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    (schedule,) = next(one["schedules"] for one in deployments if one["name"] == "nightly")
    cron = CronSchedule(cron=schedule["cron"], timezone=schedule["timezone"])
    dates = asyncio.run(cron.get_dates(2))
    assert [(date.hour, date.minute) for date in dates] == [(3, 0), (3, 0)]


SKIPPED = """
from pathlib import Path
from flows.demo import configure_prefect
configure_prefect(Path.cwd())
from prefect.client.orchestration import get_client
from flows.clone_lock import only_pipeline
from flows.evaluate import evaluate
with only_pipeline(Path.cwd()):
    evaluate(return_state=True)
with get_client(sync_client=True) as client:
    (run,) = client.read_flow_runs()
    print("STATE", run.state.type.value, run.state.name, run.state.message, len(client.read_task_runs()))
"""


@pytest.mark.slow
def test_a_night_in_which_a_pipeline_runs_is_skipped_and_seen(project: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-c", SKIPPED]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    state = f"STATE CANCELLED Skipped another pipeline or evaluation runs in {project}: wait for it or end it 0"
    assert state in done.stdout, done.stdout + done.stderr


def test_a_pipeline_is_refused_while_the_nightly_evaluation_runs(project: Path, monkeypatch) -> None:
    def measure(*_: object) -> None:
        with pytest.raises(CloneInUse), only_pipeline(project):
            pass
        measured.append("nightly")

    measured: list[str] = []
    monkeypatch.chdir(project)
    monkeypatch.setattr("flows.evaluate.measure", measure)
    assert evaluate.fn() is None
    assert measured == ["nightly"]


@pytest.mark.slow
def test_a_run_keeps_its_place_while_the_server_of_make_ui_starts_again(tmp_path: Path) -> None:
    prefect = Prefect(tmp_path / "home", free_port())
    start = ("server", "start", "--host", "127.0.0.1", "--port", str(prefect.port))
    with prefect.running(*start, **LEASES):
        prefect.wait_until_healthy()
        prefect.ask("/v2/concurrency_limits/", {"name": "deployment", "limit": 1})
        place = {"names": ["deployment"], "slots": 1, "mode": "concurrency", "lease_duration": 300}
        lease = prefect.ask("/v2/concurrency_limits/increment-with-lease", place)["lease_id"]
    with prefect.running(*start, **LEASES):
        prefect.wait_until_healthy()
        prefect.ask(f"/v2/concurrency_limits/leases/{lease}/renew", {"lease_duration": 300})


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Prefect]:
    """A toy project with Waymark's flows and prefect.yaml, deployed to a server, a worker started in its directory."""
    project = make_project(tmp_path / "project", seconds=0.2)
    (project / "flows").symlink_to(ROOT / "flows")
    shutil.copy(ROOT / "prefect.yaml", project)
    own = ("benchmarks", "cli")
    for folder in ("components", *(f"components/{name}" for name in own)):
        (project / folder).mkdir(parents=True, exist_ok=True)
        (project / folder / "__init__.py").touch()
    for entry in (ROOT / "components").iterdir():
        if entry.name not in (*own, "__init__.py", "__pycache__"):
            (project / "components" / entry.name).symlink_to(entry)
    (project / "components/benchmarks/nightly.py").write_text(NIGHTLY)
    (project / "components/cli/main.py").write_text(BENCHMARK)
    prefect = Prefect(tmp_path / "home", free_port(), project)
    with ExitStack() as stack:
        stack.enter_context(prefect.running("server", "start", "--host", "127.0.0.1", "--port", str(prefect.port)))
        prefect.wait_until_healthy()
        prefect.run("work-pool", "create", "waymark", "--type", "process")
        prefect.run("--no-prompt", "deploy", "--all")
        stack.enter_context(prefect.running("worker", "start", "--pool", "waymark"))
        yield prefect


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_worker_runs_the_pipeline_and_the_nightly_evaluation(served: Prefect) -> None:
    served.run("deployment", "run", "pipeline/demo", "--watch", "--watch-timeout", "200")
    assert (served.folder / "reports/report.txt").read_text() == FINAL
    assert ran(served.folder)[0] == "collect"

    served.run("deployment", "run", "evaluate/nightly", "--watch", "--watch-timeout", "200")
    artifacts = {one["key"]: one for one in served.ask("/artifacts/filter")}
    assert "families.click-button.rate" in artifacts["nightly-metrics"]["data"]
    assert {"collect-metrics", "train-left-funnel", "report-iterations"} <= set(artifacts)

    named = ["-p", "benchmark=webvoyager-595", "-p", "limit=5", "-p", "minutes=1.5"]
    served.run("deployment", "run", "evaluate/nightly", *named, "--watch", "--watch-timeout", "200")
    artifacts = {one["key"]: one for one in served.ask("/artifacts/filter")}
    assert "summary.rate" in artifacts["benchmark-webvoyager-595-metrics"]["data"]

    deployments = {one["name"]: one for one in served.ask("/deployments/filter")}
    assert [one["schedule"]["cron"] for one in deployments["nightly"]["schedules"]] == ["0 3 * * *"]
    assert deployments["demo"]["schedules"] == []
    assert_scheduled_at(served, deployments["nightly"]["id"], "T03:00:00")


def assert_scheduled_at(prefect: Prefect, deployment: str, hour: str) -> None:
    """The server has scheduled runs of the deployment, each at this hour. Its scheduler looks once a minute."""
    scheduled = {
        "deployments": {"id": {"any_": [deployment]}},
        "flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}},
    }
    deadline = time.monotonic() + 120
    while not (runs := prefect.ask("/flow_runs/filter", scheduled)):
        assert time.monotonic() < deadline, "no run was scheduled"
        time.sleep(2)
    assert all(hour in run["expected_start_time"] for run in runs)
