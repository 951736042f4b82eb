"""The seeded order of tasks, and the order of difficulties in a mixture.

The order comes from a hash of seed, purpose and id, so the order of the input does not matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from fractions import Fraction

from components.params import RatioParams
from components.records import Task
from components.tasks.difficulty import LEVELS, Level


def shuffled(tasks: Iterable[Task], seed: int) -> list[Task]:
    """The tasks in seeded order, which mixes websites and families."""
    return sorted(tasks, key=lambda task: (rank(task.task_id, seed, "order"), task.task_id))


def rank(task_id: str, seed: int, purpose: str) -> float:
    """A task's position in a seeded order, uniform in [0, 1) and independent between purposes."""
    return int.from_bytes(hashlib.sha256(f"{seed}\x00{purpose}\x00{task_id}".encode()).digest()[:7], "big") / 2**56


def mixture(ratio: RatioParams) -> list[Level]:
    """One round of the levels of tasks that are sampled in a ratio (WebGym, section 5.3: 2:5:3, 1:0:0, 0:1:0).

    The round is repeated, so a sampler only needs to keep the number of its draws. The first n draws have each level's
    share of n, rounded up or down, for every n: the k-th task of a level of weight w is due at (k + 1/2) / w, which is
    Webster's apportionment and stays within the quota for three parties (Balinski and Young, 1982).
    """
    weights: dict[Level, int] = {"easy": ratio.easy, "medium": ratio.medium, "hard": ratio.hard}
    due = [
        (Fraction(2 * k + 1, weights[level]), LEVELS.index(level)) for level in LEVELS for k in range(weights[level])
    ]
    return [LEVELS[level] for _, level in sorted(due)]
