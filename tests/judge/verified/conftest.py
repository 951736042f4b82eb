"""The environment of webarena-verified (`make verified`), and its rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from components.judge.verified.client import ENVIRONMENT
from components.records import Task
from components.tasks import at_sites, load_files
from tests.judge.verified.cases import SITES
from tests.judge.verified.episodes import ROOT


def pytest_collection_modifyitems(items) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def file() -> Path:
    """The package's file of rows."""
    if not (ROOT / ENVIRONMENT / ".stamp").exists():
        pytest.skip("webarena-verified is not installed: `make verified`")
    package = "lib/python3*/site-packages/webarena_verified"
    (found,) = (ROOT / ENVIRONMENT).glob(f"{package}/assets/dataset/webarena-verified.json")
    return found


@pytest.fixture(scope="session")
def rows(file: Path) -> list[dict[str, Any]]:
    return json.loads(file.read_text())


@pytest.fixture(scope="session")
def tasks(file: Path) -> dict[int, Task]:
    """The tasks of the rows at addresses, by the rows' number."""
    return {task.evaluator["row"]["task_id"]: at_sites(task, SITES) for task in load_files([file]).tasks}
