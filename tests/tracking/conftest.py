"""A tracking store of its own for each test: real SQLite, copied from one that was migrated once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mlflow import MlflowClient

from components.params import Params
from tests.samples import recipe

ROOT = Path(__file__).parent.parent.parent
DATABASE = Path("mlflow/store/mlflow.db")


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty MLflow database."""
    path = tmp_path_factory.mktemp("mlflow") / "empty.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def house(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in, as a checkout is."""
    monkeypatch.chdir(tmp_path)
    DATABASE.parent.mkdir(parents=True)
    shutil.copy(migrated, DATABASE)
    return tmp_path


@pytest.fixture
def params(house: Path) -> Params:
    return recipe()


@pytest.fixture
def client(house: Path) -> MlflowClient:
    return reader()


def reader() -> MlflowClient:
    """A client of the database in the current directory."""
    return MlflowClient(f"sqlite:///{DATABASE.resolve()}")


def start(code: str, *arguments: str, **options: object) -> subprocess.Popen:
    """A child Python that sees the library and works in the current directory."""
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
