"""Tasks for the tests of task sets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from components.records import Task


@pytest.fixture
def task() -> Callable[..., Task]:
    """Make a task. Fields that a test does not name have default values."""

    def make(task_id: str, **fields: object) -> Task:
        website = fields.pop("website", "shop.example")
        defaults = {"intent": f"Do {task_id}.", "start_url": f"https://{website}/", "source": "test"}
        return Task.model_validate({"task_id": task_id, "website": website} | defaults | fields)

    return make
