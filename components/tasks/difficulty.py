"""The difficulty of a task: the number of facts in its rubric (WebGym, section 3.2), in three levels (figure 3).

Accepted trade-off: a task without facts has no level. It keeps the recipe's step budget, and sampling by ratio refuses
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from components.params import HorizonParams
from components.records import TRAINED_ON, FactGroup, Task

Level = Literal["easy", "medium", "hard"]
LEVELS: tuple[Level, ...] = ("easy", "medium", "hard")
MAX_EASY, MAX_MEDIUM = 3, 6


def difficulty_of(rubric: Iterable[FactGroup]) -> int:
    """The number of facts over all groups."""
    return sum(len(group.facts) for group in rubric)


def level_of(difficulty: int | None) -> Level | None:
    """Easy is 1 to 3 facts, medium 4 to 6, hard 7 and more; None without facts."""
    if not difficulty:
        return None
    if difficulty <= MAX_EASY:
        return "easy"
    return "medium" if difficulty <= MAX_MEDIUM else "hard"


def require_levels(tasks: Iterable[Task]) -> None:
    """Refuse tasks without a level, from which `rl.task_sampling: {name: ratio}` cannot draw.

    Raises:
        ValueError: names the first such task.
    """
    for task in tasks:
        if level_of(task.difficulty) is None:
            raise ValueError(
                f"rl.task_sampling.name = ratio needs every task's number of facts, but {task.task_id} has none: "
                "give it a rubric (`waymark tasks propose`), or sample uniformly"
            )


def with_horizon(tasks: Sequence[Task], horizon: HorizonParams | None) -> list[Task]:
    """The tasks, in order; training tasks without a step budget get that of their level.

    An episode ends after the smaller of this budget and the phase's `max_steps` (`rl.short.max_steps` and so on). Tasks
    of an evaluation keep the evaluation's budget: the paper shortens the horizon in training only (section 5.3).
    """
    if horizon is None:
        return list(tasks)
    steps = _steps(horizon)
    return [
        task.model_copy(update={"horizon": steps[level]})
        if task.split in TRAINED_ON and task.horizon is None and (level := level_of(task.difficulty)) is not None
        else task
        for task in tasks
    ]


def without_horizon(tasks: Sequence[Task], horizon: HorizonParams | None) -> list[Task]:
    """The tasks, in order, without the step budgets that `with_horizon` gave them, as tasks that are no longer trained
    on."""
    if horizon is None:
        return list(tasks)
    steps = _steps(horizon)
    given = [task.horizon is not None and task.horizon == steps.get(level_of(task.difficulty)) for task in tasks]
    return [
        task.model_copy(update={"horizon": None}) if is_given else task
        for task, is_given in zip(tasks, given, strict=True)
    ]


def _steps(horizon: HorizonParams) -> dict[Level | None, int]:
    return {"easy": horizon.easy, "medium": horizon.medium, "hard": horizon.hard}
