"""Each test has its own tracking store (`mlflow_database` in tests/conftest.py)."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running
from pathlib import Path

import pytest
from mlflow import MlflowClient

from components.params import Params
from tests.samples import recipe

ROOT = Path(__file__).parent.parent.parent
DATABASE = Path("mlflow/store/mlflow.db")


@pytest.fixture
def checkout(tmp_path: Path, mlflow_database: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to work in, with the tracking store of a checkout."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def params(checkout: Path) -> Params:
    return recipe()


@pytest.fixture
def client(checkout: Path) -> MlflowClient:
    return reader()


def reader() -> MlflowClient:
    """Return a client of the database in the current directory."""
    return MlflowClient(f"sqlite:///{DATABASE.resolve()}")


@pytest.fixture(scope="session")
def forkserver() -> ForkServerContext:
    """Starts processes by forks of a server that has imported MLflow, so that no process imports it again."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mlflow", "mlflow.genai", "tests.tracking.stage_processes"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        ensure_running()
    return context


def start(code: str, *arguments: str, **options: object) -> subprocess.Popen:
    """Start a new Python that sees the library and works in the current directory."""
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, **options)


def runs(client: MlflowClient, where: str = "") -> list:
    experiment = client.get_experiment_by_name("waymark")
    return list(client.search_runs([experiment.experiment_id], where)) if experiment else []


def stages(client: MlflowClient, name: str) -> list:
    return runs(client, f"tags.`waymark.stage` = '{name}'")


def parents(client: MlflowClient) -> list:
    return [run for run in runs(client) if "waymark.pipeline" in run.data.tags]
