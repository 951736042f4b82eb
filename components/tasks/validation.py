"""Sets training tasks aside for the validation of RL, where a world has no pages of its own for it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from components.records import Task
from components.tasks.sampling import rank


def set_aside(tasks: Sequence[Task], count: int, seed: int) -> list[Task]:
    """`count` of the training tasks as validation tasks, evenly over the websites as far as they have tasks.

    The draw depends on the seed and on the names of tasks and websites, not on their order.

    Raises:
        ValueError: no task would be left to train on.
    """
    if count >= len(tasks) and count:
        raise ValueError(
            f"rl.validation.tasks asks for {count} training tasks, but only {len(tasks)} exist, and RL must keep at "
            "least one of them: lower rl.validation.tasks or add tasks"
        )
    by_website: dict[str, list[Task]] = {}
    for task in sorted(tasks, key=lambda task: (rank(task.task_id, seed, "validation task"), task.task_id)):
        by_website.setdefault(task.website, []).append(task)
    websites = sorted(by_website, key=lambda name: (rank(name, seed, "validation website"), name))
    rounds = zip_longest(*(by_website[name] for name in websites))
    drawn = [task for members in rounds for task in members if task is not None][:count]
    return [task.model_copy(update={"split": "validation"}) for task in drawn]
