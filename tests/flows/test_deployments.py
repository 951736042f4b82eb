"""prefect.yaml against a real Prefect server and a real process worker, started as docs/how-to/operate.md says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from components.ports import free_port
from tests.flows.conftest import FINAL, make_project, ran

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


class Prefect:
    """A server with a home of its own, and the command line talking to it."""

    def __init__(self, home: Path, project: Path) -> None:
        self.port = free_port()
        self.project = project
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
            "PREFECT_HOME": str(home),
            "PREFECT_API_URL": f"http://127.0.0.1:{self.port}/api",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        }

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self.project.parent / f"{arguments[0]}.log").open("wb")
        command = [sys.executable, "-m", "prefect", *arguments]
        return subprocess.Popen(command, cwd=self.project, env=self.environment, stdout=log, stderr=log)

    def run(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "prefect", *arguments]
        done = subprocess.run(
            command, cwd=self.project, env=self.environment, capture_output=True, text=True, check=False, timeout=240
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ask(self, path: str, body: dict | None = None) -> list[dict]:
        data = json.dumps(body or {}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api{path}", data=data)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def wait_until_healthy(self) -> None:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/health", timeout=2).close()
                return
            except OSError:
                time.sleep(0.5)
        raise AssertionError("the Prefect server did not come up")


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end; a worker that is asked does not always (it hung once for nine minutes, with nothing running)."""
    process.terminate()
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Prefect]:
    """A toy project with Waymark's flows and prefect.yaml, deployed to a server, a worker started in its directory."""
    project = make_project(tmp_path / "project", seconds=0.2)
    (project / "flows").symlink_to(ROOT / "flows")
    shutil.copy(ROOT / "prefect.yaml", project)
    for folder in ("components", "components/benchmarks", "components/cli"):
        (project / folder).mkdir(parents=True, exist_ok=True)
        (project / folder / "__init__.py").touch()
    (project / "components/benchmarks/nightly.py").write_text(NIGHTLY)
    (project / "components/cli/main.py").write_text(BENCHMARK)
    home = tmp_path / "home"
    home.mkdir()
    prefect = Prefect(home, project)
    with ExitStack() as stack:

        def keep(*arguments: str) -> None:
            started = stack.enter_context(prefect.start(*arguments))
            stack.callback(end, started)

        keep("server", "start", "--host", "127.0.0.1", "--port", str(prefect.port))
        prefect.wait_until_healthy()
        prefect.run("work-pool", "create", "waymark", "--type", "process")
        prefect.run("--no-prompt", "deploy", "--all")
        keep("worker", "start", "--pool", "waymark")
        yield prefect


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_worker_runs_the_pipeline_and_the_nightly_evaluation(served: Prefect) -> None:
    served.run("deployment", "run", "pipeline/demo", "--watch", "--watch-timeout", "200")
    assert (served.project / "reports/report.txt").read_text() == FINAL
    assert ran(served.project)[0] == "collect"

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
