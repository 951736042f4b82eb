"""Training tasks that are set aside for the validation of RL."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.records import Task
from components.tasks import set_aside
from components.worlds import even_counts


def tasks_of(sizes: list[int]) -> list[Task]:
    return [
        Task(task_id=f"{site}/{number}", intent="Do it.", start_url="https://x", website=str(site), source="test")
        for site, size in enumerate(sizes)
        for number in range(size)
    ]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 30), st.randoms())
def test_as_many_as_asked_for_and_evenly_over_websites(sizes, count, rng):
    tasks = tasks_of(sizes)
    if count >= len(tasks) and count:
        with pytest.raises(
            ValueError,
            match=f"asks for {count} training tasks, but only {len(tasks)} exist.*: lower rl.validation.tasks",
        ):
            set_aside(tasks, count, 0)
        return
    aside = set_aside(tasks, count, 0)
    shuffled = tasks.copy()
    rng.shuffle(shuffled)
    assert set_aside(shuffled, count, 0) == aside, "the order of the tasks does not matter"
    assert len({task.task_id for task in aside}) == count
    assert {task.split for task in aside} <= {"validation"}
    taken = Counter(task.website for task in aside)
    most = max(taken.values(), default=0)
    for site, size in enumerate(sizes):
        assert taken[str(site)] >= min(size, most - 1), "a website with tasks left has at most one fewer than any other"


def test_another_seed_sets_other_tasks_aside():
    tasks = tasks_of([20, 20])
    assert set_aside(tasks, 6, 0) != set_aside(tasks, 6, 1)


def test_counts_are_even_and_the_first_get_the_rest():
    assert even_counts(["a", "b", "c"], 7) == {"a": 3, "b": 2, "c": 2}
    assert even_counts([], 7) == {}
