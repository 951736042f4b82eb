from __future__ import annotations

from collections.abc import Callable

import pytest

from components.params import HorizonParams, RecipeError, parse
from components.records import FactGroup, Task
from components.tasks import difficulty_of, level_of, with_horizon, without_horizon
from tests.samples import raw_recipe

SHORT = HorizonParams(easy=10, medium=20, hard=30)


def test_difficulty_counts_the_facts_of_all_groups() -> None:
    rubric = [FactGroup(id="a", description="", facts=["1", "2"]), FactGroup(id="b", description="", facts=["3"])]
    assert difficulty_of(rubric) == 3
    assert difficulty_of([]) == 0


def test_the_levels_are_those_of_the_paper() -> None:
    assert [level_of(facts) for facts in (1, 3, 4, 6, 7, 40)] == ["easy", "easy", "medium", "medium", "hard", "hard"]
    assert level_of(None) is level_of(0) is None


def test_a_training_task_gets_the_step_budget_of_its_level(task: Callable[..., Task]) -> None:
    tasks = [task(str(facts), difficulty=facts) for facts in (3, 4, 7)]
    assert [one.horizon for one in with_horizon(tasks, SHORT)] == [10, 20, 30]
    assert with_horizon(tasks, None) == tasks


@pytest.mark.parametrize(
    ("fields", "horizon"),
    [
        ({"difficulty": None}, None),
        ({"difficulty": 0}, None),
        ({"difficulty": 2, "horizon": 7}, 7),
        ({"difficulty": 2, "split": "eval"}, None),
        ({"difficulty": 2, "split": "heldout"}, None),
    ],
)
def test_tasks_to_evaluate_without_facts_or_with_a_budget_stay_unchanged(
    task: Callable[..., Task], fields: dict, horizon: int | None
) -> None:
    assert [one.horizon for one in with_horizon([task("t", **fields)], SHORT)] == [horizon]


def test_a_recipe_with_more_steps_for_easy_than_for_hard_tasks_is_refused() -> None:
    raw = raw_recipe()
    raw.setdefault("tasks", {})["horizon"] = {"easy": 30, "medium": 20, "hard": 10}
    with pytest.raises(RecipeError, match=r"tasks.horizon: easy, medium and hard must not decrease, these are 30, 20"):
        parse(raw)


def test_a_task_that_is_no_longer_trained_on_loses_the_budget_of_its_level(task: Callable[..., Task]) -> None:
    tasks = [task("0", difficulty=3), task("1", difficulty=3, horizon=5), task("2")]
    shortened = with_horizon(tasks, SHORT)
    assert [one.horizon for one in shortened] == [10, 5, None]
    assert without_horizon(shortened, SHORT) == tasks
    assert without_horizon(shortened, None) == shortened
