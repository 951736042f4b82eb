"""Which smaller tasks a rubric holds: the paper's examples by hand, and its rule for rubrics of every shape."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from components.records import FactGroup, Task
from components.tasks import difficulty_of, subsets
from components.tasks.decomposition import count_subsets, decomposed

SIZES = st.lists(st.integers(0, 6), max_size=8)
"""Facts of each group."""


def rubric(sizes: list[int]) -> list[FactGroup]:
    return [
        FactGroup(id=f"G{number}", description="", facts=[f"{number}.{fact}" for fact in range(size)])
        for number, size in enumerate(sizes, start=1)
    ]


def names(parts: list) -> list[str]:
    return ["+".join(group.id for group in part) for part in parts]


def test_groups_of_2_3_and_4_facts_give_the_papers_five_tasks() -> None:
    parts = subsets(rubric([2, 3, 4]))
    assert names(parts) == ["G2", "G3", "G1+G2", "G1+G3", "G2+G3"]
    assert [difficulty_of(part) for part in parts] == [3, 4, 5, 6, 7]


def test_groups_of_3_and_1_facts_give_the_papers_one_task() -> None:
    assert names(subsets(rubric([3, 1]))) == ["G1"]


def test_one_group_or_no_large_group_gives_no_subsets() -> None:
    for sizes in ([], [9], [2, 2, 2], [1, 2]):
        assert subsets(rubric(sizes)) == []


@given(SIZES)
def test_subsets_are_all_proper_ones_with_a_large_group_once_each(sizes: list[int]) -> None:
    groups = rubric(sizes)
    obvious = {
        "+".join(group.id for group in part)
        for part in chain.from_iterable(combinations(groups, size) for size in range(1, len(groups)))
        if any(len(group.facts) >= 3 for group in part)
    }
    found = names(subsets(groups))
    assert set(found) == obvious
    assert len(found) == len(obvious) == count_subsets(groups)


@given(SIZES.filter(lambda sizes: 0 not in sizes))
def test_each_subset_is_strictly_easier_than_the_whole(sizes: list[int]) -> None:
    groups = rubric(sizes)
    assert all(3 <= difficulty_of(part) < difficulty_of(groups) for part in subsets(groups))


@given(SIZES, st.integers(1, 40), st.integers(0, 3))
def test_a_limit_gives_a_sample_of_all_subsets_by_seed(sizes: list[int], most: int, seed: int) -> None:
    groups = rubric(sizes)
    everything, some = names(subsets(groups)), names(subsets(groups, most, seed))
    assert len(some) == min(most, len(everything))
    assert some == [name for name in everything if name in set(some)], "in the same order"
    assert some == names(subsets(groups, most, seed))


def test_a_rubric_of_forty_groups_is_sampled_without_listing_its_subsets() -> None:
    groups = rubric([3] * 40)
    assert count_subsets(groups) == 2**40 - 2
    assert len(set(names(subsets(groups, limit=64, seed=0)))) == 64


def test_a_decomposed_task_takes_only_its_start_page_from_its_parent(
    task: Callable[..., Task],
) -> None:
    parent = task(
        "p", rubric=rubric([2, 3, 4]), difficulty=9, reference_answer="all", evaluator={"type": "x"}, horizon=30,
        domain="music", subdomain="concerts",
    )  # fmt: skip
    child = decomposed(parent, (parent.rubric[0], parent.rubric[2]), "Find the concert.")
    assert child.task_id == "p#1+3"
    assert child.decomposed_from == "p"
    assert (child.intent, child.difficulty) == ("Find the concert.", 6)
    assert child.rubric == [parent.rubric[0], parent.rubric[2]]
    assert (child.reference_answer, child.evaluator, child.horizon) == (None, {}, None)
    kept = ("start_url", "website", "source", "split", "domain", "subdomain")
    assert [getattr(child, name) for name in kept] == [getattr(parent, name) for name in kept]
