"""The smaller tasks that a rubric contains (WebGym, section 3.2 and algorithm 1).

A task with two or more fact groups, at least one of them large (three facts or more), is decomposed: each proper subset
of its groups that contains a large one is a task, easier than the whole.

With n groups, s of them small, there are 2^n - 2^s - 1 such subsets. The paper uses all of them; `limit` takes
a seeded sample, since each subset costs a question to a model.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations

from components.records import FactGroup, Task
from components.tasks.difficulty import difficulty_of

LARGE = 3
"""Least number of facts of a large group."""

Subset = tuple[FactGroup, ...]


def is_large(group: FactGroup) -> bool:
    """True if the group alone is a task that is not trivial."""
    return len(group.facts) >= LARGE


def count_subsets(rubric: Sequence[FactGroup]) -> int:
    """The number of tasks that a rubric is decomposed into."""
    small = sum(not is_large(group) for group in rubric)
    return 2 ** len(rubric) - 2**small - 1 if small < len(rubric) else 0


def subsets(rubric: Sequence[FactGroup], limit: int | None = None, seed: int = 0) -> list[Subset]:
    """The proper subsets with a large group, sorted by size; groups are in the rubric's order.

    Args:
        limit: the size of a sample that depends only on the seed and the groups' ids; None returns all subsets.
    """
    if limit is None or count_subsets(rubric) <= limit:
        return list(_all_subsets(rubric))
    generator = random.Random(f"{seed}\x00" + "\x00".join(group.id for group in rubric))
    chosen: dict[int, Subset] = {}
    while len(chosen) < limit:  # a large group is in half of the masks, so each takes about two draws
        mask = generator.randrange(1, 2 ** len(rubric) - 1)
        subset = tuple(group for index, group in enumerate(rubric) if mask >> index & 1)
        if any(map(is_large, subset)):
            chosen[mask] = subset
    positions = {group.id: index for index, group in enumerate(rubric)}
    return sorted(chosen.values(), key=lambda subset: (len(subset), [positions[group.id] for group in subset]))


def decomposed(parent: Task, groups: Subset, intent: str) -> Task:
    """The task of a subset; its id has the groups' positions in the rubric, counted from 1.

    The parent's reference answer, rules and step budget belong to the whole task and are left out.
    """
    positions = [number for number, group in enumerate(parent.rubric, start=1) if group in groups]
    return Task(
        task_id=f"{parent.task_id}#{'+'.join(map(str, positions))}",
        intent=intent,
        start_url=parent.start_url,
        website=parent.website,
        source=parent.source,
        split=parent.split,
        domain=parent.domain,
        subdomain=parent.subdomain,
        difficulty=difficulty_of(groups),
        rubric=list(groups),
        decomposed_from=parent.task_id,
    )


def _all_subsets(rubric: Sequence[FactGroup]) -> Iterator[Subset]:
    for size in range(1, len(rubric)):
        yield from (subset for subset in combinations(rubric, size) if any(map(is_large, subset)))
