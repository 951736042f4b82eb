"""`make demo` as a command, on a toy project: it runs what is stale and prints the table; again, it runs nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings
from rich.console import Console

from components.ports import free_port
from flows.clone_lock import only_pipeline
from flows.demo import command, in_the_browser, results, show
from flows.ui import server_env
from tests.flows.conftest import ran
from tests.flows.prefect_server import Prefect

ROOT = Path(__file__).resolve().parents[2]


def success(rate: float) -> dict:
    return {"rate": rate, "n": 200, "ci95": [rate - 0.05, rate + 0.05], "rate_without_aborted": rate + 0.01}


REPORT = {
    "success": {"base": success(0.11), "sft": success(0.39), "rl": success(0.79)},
    "paired": {
        "sft_minus_base": {"diff": 0.28, "ci95": [0.2, 0.36]},
        "rl_minus_sft": {"diff": 0.4, "ci95": [0.31, 0.49]},
    },
    "judge": {"n": 120, "accuracy": 0.9, "majority_accuracy": 0.6, "untrained_accuracy": 0.55},
}


def demo(root: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MAKE"))}
    environment |= {"PYTHONPATH": str(ROOT), "COLUMNS": "120", **variables}
    command = [sys.executable, "-m", "flows.demo", *arguments]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=280)


@pytest.fixture
def reporting(project: Path) -> Path:
    """The toy project with a recipe and a report to print."""
    (project / "params.yaml").write_text("name: demo\n")
    (project / "reports").mkdir()
    (project / "reports/demo.json").write_text(json.dumps(REPORT))
    return project


@pytest.mark.slow
def test_the_first_run_runs_all_stages_and_the_second_none_within_30_s(reporting: Path) -> None:
    first = demo(reporting)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "✔ report" in first.stdout
    assert "after RL" in first.stdout
    stages = ran(reporting)

    start = time.monotonic()
    second = demo(reporting)
    assert second.returncode == 0, second.stdout + second.stderr
    assert time.monotonic() - start < 30
    assert "Every stage is up to date." in second.stdout
    assert "79.0%" in second.stdout
    assert "reports/demo.html" in second.stdout
    assert ran(reporting) == stages


@pytest.mark.slow
def test_a_failed_stage_ends_with_its_log_and_exit_status_1(reporting: Path) -> None:
    text = (reporting / "dvc.yaml").read_text()
    (reporting / "dvc.yaml").write_text(text.replace("python stage.py report", "python nothing.py report"))
    done = demo(reporting)
    assert done.returncode == 1
    assert "report: failed with status 2" in done.stdout
    assert "nothing.py" in done.stdout
    assert "run `python -m flows.demo` again" in done.stdout


@pytest.mark.slow
def test_a_shared_store_that_cannot_be_read_is_named(reporting: Path, tmp_path: Path) -> None:
    placement = "placement: {store: 'nowhere://bucket', pools: {report: gpu}}"
    (reporting / "params.yaml").write_text(f"name: demo\n{placement}\n")
    server = Prefect(tmp_path / "home", free_port())
    with server.running("server", "start", "--host", "127.0.0.1", "--port", str(server.port)):
        server.wait_until_healthy()
        done = demo(reporting, PREFECT_API_URL=server.environment["PREFECT_API_URL"])
    assert done.returncode == 1
    assert "placement.store = nowhere://bucket" in done.stdout
    assert "run `python -m flows.demo` again" in done.stdout


@pytest.mark.parametrize("text", ["name: [", "[" * 5000, None], ids=["open", "deep", "missing"])
def test_a_recipe_that_cannot_be_read_is_named(reporting: Path, text: str | None) -> None:
    recipe = reporting / "params.yaml"
    recipe.unlink()
    if text is not None:
        recipe.write_text(text)
    dvc_yaml = reporting / "dvc.yaml"
    dvc_yaml.write_text(dvc_yaml.read_text().replace("stages:", "stages:\n  named:\n    cmd: echo ${name}", 1))
    done = demo(reporting)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    assert "params.yaml: not YAML" in done.stdout if text else "params.yaml: no such recipe" in done.stdout


def test_a_server_that_does_not_answer_is_named_before_any_stage(reporting: Path) -> None:
    done = demo(reporting, PREFECT_API_URL=f"http://me:secret@127.0.0.1:{free_port()}/api")
    assert done.returncode == 1
    assert "No Prefect server answers at http://me:***@127.0.0.1" in done.stdout
    assert "unset PREFECT_API_URL" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stdout + done.stderr
    assert ran(reporting) == []


@pytest.mark.parametrize("recipe", [["--recipe", "demo"], []], ids=["another recipe", "the same"])
def test_a_second_run_in_the_clone_is_refused_and_changes_nothing(reporting: Path, recipe: list[str]) -> None:
    with only_pipeline(reporting):
        done = demo(reporting, *recipe)
    assert done.returncode == 1
    assert f"another pipeline or evaluation runs in {reporting}: wait for it or end it" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stdout + done.stderr
    assert (reporting / "params.yaml").read_text() == "name: demo\n"


@pytest.mark.parametrize("number", ["0", "-3"])
def test_at_least_one_stage_runs_at_a_time(reporting: Path, number: str) -> None:
    done = demo(reporting, "--side-by-side", number)
    assert (done.returncode, "give at least 1" in done.stderr) == (2, True)


def test_the_table_has_a_row_per_model_with_its_interval() -> None:
    text = StringIO()
    Console(file=text, width=100).print(results("demo", REPORT))
    row = next(line for line in text.getvalue().splitlines() if "after SFT" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "after SFT",
        "39.0%",
        "34.0 … 44.0%",
        "40.0%",
        "200",
    ]


@pytest.mark.parametrize(
    ("rl", "label"),
    [("", "after RL"), ("rl: {objective: {name: rft}}\n", "after RFT"), ("rl: {lr: 1}\n", "after RL")],
    ids=["no section", "rft", "the default"],
)
def test_the_objective_names_the_trained_policy(tmp_path: Path, rl: str, label: str) -> None:
    (tmp_path / "params.yaml").write_text(f"name: demo\n{rl}")
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports/demo.json").write_text(json.dumps(REPORT))
    text = StringIO()
    assert show(Console(file=text, width=100), tmp_path, 1.0) == 0
    assert [line.split("│")[1].strip() for line in text.getvalue().splitlines() if "79.0%" in line] == [label]


@pytest.mark.parametrize(
    ("arguments", "level", "line"),
    [
        ([], "1", "make demo"),
        (["--recipe", "my recipe.yaml"], "1", "make demo 'RECIPE=my recipe.yaml'"),
        (["--recipe", "cluster.yaml"], "", "python -m flows.demo --recipe cluster.yaml"),
        (["--side-by-side", "3"], "", "python -m flows.demo --side-by-side 3"),
    ],
)
def test_the_command_that_was_typed_is_the_one_to_type_again(monkeypatch, arguments, level, line) -> None:
    monkeypatch.delenv("MAKELEVEL", raising=False)
    if level:
        monkeypatch.setenv("MAKELEVEL", level)
    assert command(arguments, arguments[1] if "--recipe" in arguments else None) == line


@pytest.mark.parametrize(
    ("tracking_uri", "server", "pages"),
    [
        ("", "", {"make ui": ["MLflow", "Prefect"]}),
        ("sqlite:///mlflow/store/mlflow.db", "", {"make ui": ["MLflow", "Prefect"]}),
        (
            "http://me:secret@vm:5000",
            "http://vm:4200/api",
            {"http://me:***@vm:5000": ["MLflow"], "http://vm:4200": ["Prefect"]},
        ),
        ("", "http://vm:4200/api", {"make ui": ["MLflow"], "http://vm:4200": ["Prefect"]}),
    ],
    ids=["own servers", "the default store", "shared servers", "a shared Prefect"],
)
def test_the_summary_names_the_servers_that_have_the_run(monkeypatch, tracking_uri, server, pages) -> None:
    monkeypatch.setenv("PREFECT_API_URL", server)
    with temporary_settings({PREFECT_API_URL: server or None}):
        assert in_the_browser(tracking_uri) == pages


def test_the_users_prefect_profile_stays_untouched(reporting: Path, tmp_path: Path) -> None:
    program = "from pathlib import Path; from flows.demo import configure_prefect; configure_prefect(Path.cwd())\n"
    program += "from prefect.settings import get_current_settings as s; print(s().home, s().api.url)"
    home = tmp_path / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment |= {"PYTHONPATH": str(ROOT), "HOME": str(home)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=reporting, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(reporting / ".waymark/prefect"), "None"]
    assert list(home.iterdir()) == []


def test_a_server_that_the_user_named_is_used(reporting: Path) -> None:
    program = "from pathlib import Path; from flows.demo import configure_prefect; configure_prefect(Path.cwd())\n"
    program += "from prefect.settings import get_current_settings as s; print(s().api.url)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_API_URL": "http://127.0.0.1:9/api"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=reporting, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "http://127.0.0.1:9/api"


def test_the_mlflow_server_reads_loopback_settings_from_its_file() -> None:
    settings = server_env((ROOT / "mlflow/server.env").read_text())
    assert settings["MLFLOW_HOST"] == "127.0.0.1"
    assert settings["MLFLOW_BACKEND_STORE_URI"] == "sqlite:///mlflow/store/mlflow.db"
