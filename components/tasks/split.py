"""A test set of websites that are never trained on (WebGym, section 3.3).

The test websites are drawn at random. One task of each is a test task, and its other tasks are dropped.

This is stricter than the paper: the domains above and below a test website (`maps.shop.example` and `shop.example`) are
dropped too, because they share pages. Not covered: websites of one company under different names, and two names below
one domain (`a.shop.example` and `b.shop.example`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from components.records import TRAINED_ON, Task
from components.tasks.funnel import Funnel
from components.tasks.sampling import rank


class Split(NamedTuple):
    """Training tasks in the order of the input, test tasks in seeded order, and the funnel of the training tasks."""

    train: list[Task]
    test: list[Task]
    funnel: Funnel


def split_by_website(tasks: Sequence[Task], websites: int, seed: int) -> Split:
    """Draw a test set of one task from each of `websites` websites.

    The draw depends on the seed and on the names of tasks and websites, not on their order. Test tasks have the split
    `heldout`, like families of pages that are never trained on.

    Raises:
        ValueError: a task is no training task, or too few websites are left to train on.
    """
    evaluation_tasks = [task for task in tasks if task.split not in TRAINED_ON]
    if evaluation_tasks:
        raise ValueError(
            f"{len(evaluation_tasks)} tasks belong to an evaluation, such as {evaluation_tasks[0].task_id}: leave "
            "their file out, or mark them as training tasks (--split train)"
        )
    first: dict[str, Task] = {}
    for task in sorted(tasks, key=lambda task: (rank(task.task_id, seed, "test task"), task.task_id)):
        first.setdefault(task.website, task)
    test: list[Task] = []
    test_websites: set[str] = set()
    above: set[str] = set()
    for name in sorted(first, key=lambda name: (rank(name, seed, "test website"), name)):
        if len(test) == websites:
            break
        if not _related(name, test_websites, above):
            test.append(first[name].model_copy(update={"split": "heldout"}))
            test_websites.add(name)
            above.update(_domains_above(name))
    train = [task for task in tasks if not _related(task.website, test_websites, above)]
    if len(test) < websites or (tasks and not train):
        raise ValueError(
            f"{len(first)} websites are too few for {websites} unrelated test websites and others to train on: "
            "lower construction.test_websites (for `waymark tasks split` also --test-websites), or add tasks of other "
            "websites"
        )
    chosen = {task.task_id for task in test}
    funnel = Funnel(total=len(tasks)).then("test task", [task.task_id for task in test])
    dropped = [
        task.task_id for task in tasks if _related(task.website, test_websites, above) and task.task_id not in chosen
    ]
    return Split(train, test, funnel.then("website of a test task", dropped))


def _related(website: str, test_websites: set[str], above: set[str]) -> bool:
    """True if a website is a test website, or a domain above or below one."""
    return (
        website in test_websites
        or website in above
        or any(domain in test_websites for domain in _domains_above(website))
    )


def _domains_above(website: str) -> Iterator[str]:
    labels = website.split(".")
    return (".".join(labels[start:]) for start in range(1, len(labels) - 1))
