"""A test set of websites that are never trained on."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from components.records import Task
from components.tasks import split_by_website

LABELS = st.sampled_from(["a", "b", "c", "shop", "maps"])
SITES = st.lists(LABELS, min_size=1, max_size=3).map(lambda labels: ".".join([*labels, "example"]))


def related(one: str, other: str) -> bool:
    return one == other or one.endswith(f".{other}") or other.endswith(f".{one}")


def tasks_of(sites: list[str]) -> list[Task]:
    return [
        Task(task_id=str(i), intent=f"Do {i}.", start_url=f"https://{site}/", website=site, source="test")
        for i, site in enumerate(sites)
    ]


@given(st.lists(SITES, min_size=1, max_size=40), st.integers(0, 5), st.integers(0, 3), st.randoms())
def test_websites_of_test_tasks_are_absent_from_training_tasks(
    sites: list[str], websites: int, seed: int, order: random.Random
) -> None:
    tasks = tasks_of(sites)
    try:
        split = split_by_website(tasks, websites, seed)
    except ValueError:
        assume(False)
    held = [task.website for task in split.test]
    assert len(held) == websites
    assert not any(related(one, other) for i, one in enumerate(held) for other in held[:i])
    assert not any(related(task.website, one) for task in split.train for one in held)
    gone = [task for task in tasks if any(related(task.website, one) for one in held)]
    assert split.train == [task for task in tasks if task not in gone], "nothing else goes, and order stays"
    assert all(task.split == "heldout" for task in split.test)
    assert [row["dropped"] for row in split.funnel.rows()] == [0, websites, len(gone) - websites]
    assert split.funnel.left == len(split.train)

    order.shuffle(tasks)
    assert split_by_website(tasks, websites, seed).test == split.test, "the order of the input does not matter"


def test_the_seed_decides_the_websites_and_the_tasks_of_each() -> None:
    tasks = tasks_of([f"{i % 30}.example" for i in range(300)])
    draws = [tuple(task.task_id for task in split_by_website(tasks, 5, seed).test) for seed in range(20)]
    assert len(set(draws)) == 20
    assert len({task_id for draw in draws for task_id in draw}) > 60, "over 20 draws of 5, no favourites"


def test_a_larger_test_set_holds_the_smaller_one_of_the_same_seed() -> None:
    tasks = tasks_of([f"{i % 30}.example" for i in range(300)])
    few, many = split_by_website(tasks, 4, seed=1), split_by_website(tasks, 9, seed=1)
    assert many.test[:4] == few.test


def test_a_website_moves_with_its_parent_and_subdomains() -> None:
    sites = ["shop.example", "maps.shop.example", "a.maps.shop.example", "othershop.example"]
    split = split_by_website(tasks_of(sites), 1, seed=_seed_that_holds("maps.shop.example", sites))
    assert [task.website for task in split.train] == ["othershop.example"]


def test_without_test_websites_all_tasks_are_for_training() -> None:
    tasks = tasks_of(["a.example", "b.example"])
    assert split_by_website(tasks, 0, seed=0).train == tasks


def test_too_few_websites_and_tasks_of_an_evaluation_are_refused(task: Callable[..., Task]) -> None:
    with pytest.raises(ValueError, match="2 websites are too few for 2 unrelated test websites and others to train on"):
        split_by_website(tasks_of(["a.example", "b.example"]), 2, seed=0)
    with pytest.raises(ValueError, match="1 tasks belong to an evaluation, such as x: leave their file out, or mark"):
        split_by_website([task("x", split="eval"), task("y")], 1, seed=0)


def _seed_that_holds(website: str, sites: list[str]) -> int:
    return next(s for s in range(100) if split_by_website(tasks_of(sites), 1, s).test[0].website == website)
