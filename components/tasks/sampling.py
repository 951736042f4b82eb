"""Seeded order of tasks, from a hash of seed, purpose and id: the order of the input does not matter."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from components.records import Task


def shuffled(tasks: Iterable[Task], seed: int) -> list[Task]:
    """The tasks in seeded order, which mixes websites and families."""
    return sorted(tasks, key=lambda task: (rank(task.task_id, seed, "order"), task.task_id))


def rank(task_id: str, seed: int, purpose: str) -> float:
    """A task's place in a seeded order, uniform in [0, 1) and independent between purposes."""
    return int.from_bytes(hashlib.sha256(f"{seed}\x00{purpose}\x00{task_id}".encode()).digest()[:7], "big") / 2**56
