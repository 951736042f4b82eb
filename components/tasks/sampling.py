"""Seeded order, samples and splits of tasks.

All follow from a hash of seed, purpose and id: the order of the input does not matter, adding a task moves no other
task across a split, and the purposes are independent, so that a sample is not one side of a split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from components.records import Task


def shuffled(tasks: Iterable[Task], seed: int) -> list[Task]:
    """The tasks in seeded order, which mixes websites and families."""
    return sorted(tasks, key=lambda task: (rank(task.task_id, seed, "order"), task.task_id))


def sample(tasks: Iterable[Task], count: int, seed: int) -> list[Task]:
    """The first `count` tasks of the seeded order; all of them if there are fewer."""
    return shuffled(tasks, seed)[:count]


def split(task_ids: Iterable[str], share: float, seed: int) -> tuple[set[str], set[str]]:
    """Task ids to (kept, held out), about `share` of them held out; each id on its own side whatever the others are."""
    ids = set(task_ids)
    held = {task_id for task_id in ids if rank(task_id, seed, "split") < share}
    return ids - held, held


def rank(task_id: str, seed: int, purpose: str) -> float:
    """A task's place in a seeded order, uniform in [0, 1) and independent between purposes."""
    return int.from_bytes(hashlib.sha256(f"{seed}\x00{purpose}\x00{task_id}".encode()).digest()[:7], "big") / 2**56
