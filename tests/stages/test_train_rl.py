"""Settings of RL that do not fit the tasks are refused before any model is loaded."""

from __future__ import annotations

import pytest

from components.stages.train_rl import require_tasks
from tests.samples import a_task, recipe

POOL = [a_task()]
VALIDATION = [a_task().model_copy(update={"task_id": "v", "split": "validation"})]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rl__task_sampling": {"name": "ratio", "easy": 1, "medium": 1, "hard": 1}}, "needs every task's number"),
        ({"rl__objective": {"name": "rft", "max_per_source": {"nq": 400}}}, r"max_per_source limits nq, .* miniwob"),
    ],
)
def test_settings_that_the_pool_cannot_have_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        require_tasks(recipe(**changes), POOL, VALIDATION)


def test_validation_without_tasks_of_trained_families_is_refused():
    params = recipe(rl__validation={"every": 2, "tasks": 4})
    heldout = [VALIDATION[0].model_copy(update={"split": "heldout_validation"})]
    require_tasks(params, POOL, VALIDATION)
    with pytest.raises(ValueError, match=r"validation\.every = 2 asks .* has no task of the trained families"):
        require_tasks(params, POOL, heldout)
    require_tasks(recipe(), POOL, [])


def test_limits_of_sources_that_the_pool_has_are_accepted():
    require_tasks(recipe(rl__objective={"name": "rft", "max_per_source": {POOL[0].source: 400}}), POOL, [])
