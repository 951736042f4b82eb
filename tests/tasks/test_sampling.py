from __future__ import annotations

from collections.abc import Callable

from components.records import Task
from components.tasks import sample, shuffled, split


def test_the_seeded_order_ignores_the_order_of_the_input(task: Callable[..., Task]) -> None:
    tasks = [task(str(i)) for i in range(50)]
    order = [t.task_id for t in shuffled(tasks, seed=1)]
    assert order == [t.task_id for t in shuffled(reversed(tasks), seed=1)]
    assert order != [t.task_id for t in shuffled(tasks, seed=2)]
    assert sorted(order) == sorted(t.task_id for t in tasks)


def test_a_larger_sample_holds_the_smaller_one(task: Callable[..., Task]) -> None:
    tasks = [task(str(i)) for i in range(50)]
    assert sample(tasks, 30, seed=3)[:10] == sample(tasks, 10, seed=3)
    assert len(sample(tasks, 80, seed=3)) == 50


def test_the_order_mixes_families(task: Callable[..., Task]) -> None:
    tasks = [task(f"{family}/{i}", website=family) for family in "abcd" for i in range(100)]
    first = [t.website for t in sample(tasks, 100, seed=0)]
    assert all(10 < first.count(family) < 45 for family in "abcd")


def test_a_new_task_moves_no_other_task_across_the_split() -> None:
    ids = [str(i) for i in range(1000)]
    kept, held = split(ids, 0.2, seed=4)
    kept_more, held_more = split([*ids, "new"], 0.2, seed=4)
    assert kept | held == set(ids)
    assert not kept & held
    assert held_more - {"new"} == held
    assert kept_more - {"new"} == kept
    assert 150 < len(held) < 250


def test_a_sample_is_spread_over_both_sides_of_a_split_with_the_same_seed(task: Callable[..., Task]) -> None:
    tasks = [task(str(i)) for i in range(1000)]
    _, held = split((t.task_id for t in tasks), 0.2, seed=5)
    share = sum(t.task_id in held for t in sample(tasks, 200, seed=5)) / 200
    assert 0.1 < share < 0.3
