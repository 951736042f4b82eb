from __future__ import annotations

from collections.abc import Callable

from components.records import Task
from components.tasks import shuffled


def test_the_seeded_order_ignores_the_order_of_the_input(task: Callable[..., Task]) -> None:
    tasks = [task(str(i)) for i in range(50)]
    order = [t.task_id for t in shuffled(tasks, seed=1)]
    assert order == [t.task_id for t in shuffled(reversed(tasks), seed=1)]
    assert order != [t.task_id for t in shuffled(tasks, seed=2)]
    assert sorted(order) == sorted(t.task_id for t in tasks)


def test_the_order_mixes_families(task: Callable[..., Task]) -> None:
    tasks = [task(f"{family}/{i}", website=family) for family in "abcd" for i in range(100)]
    first = [t.website for t in shuffled(tasks, seed=0)[:100]]
    assert all(10 < first.count(family) < 45 for family in "abcd")
