"""Training tasks in a ratio of difficulties (WebGym, section 5.3)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.params import RatioParams, RatioSampling, RecipeError, parse
from components.records import Task
from components.rollout import SamplerState, TaskSampler
from components.tasks import level_of
from tests.samples import raw_recipe

FACTS = {"easy": 2, "medium": 5, "hard": 9}
BIASED = RatioParams(easy=2, medium=5, hard=3)
WEIGHTS = st.tuples(*[st.integers(0, 9)] * 3).filter(any)


def pool(**sizes: int) -> list[Task]:
    return [
        Task(
            task_id=f"{level}{i}", intent="i", start_url="https://a.example/", website="a.example", source="test",
            difficulty=FACTS[level],
        )
        for level, size in sizes.items()
        for i in range(size)
    ]  # fmt: skip


def sampler(tasks: list[Task], ratio: RatioParams = BIASED, state: SamplerState | None = None) -> TaskSampler:
    return TaskSampler(tasks, 1, RatioSampling(**ratio.model_dump()), state)


def levels(tasks: list[Task]) -> Counter:
    return Counter(level_of(task.difficulty) for task in tasks)


def test_ten_tasks_biased_to_hard_are_two_easy_five_medium_and_three_hard() -> None:
    of = sampler(pool(easy=80, medium=15, hard=5))
    for _ in range(3):
        assert levels(of.take(10)) == {"easy": 2, "medium": 5, "hard": 3}


@given(WEIGHTS, st.lists(st.integers(0, 20), max_size=6))
def test_the_ratio_holds_over_any_takes_up_to_rounding(weights: tuple[int, int, int], takes: list[int]) -> None:
    of = sampler(pool(easy=25, medium=25, hard=25), RatioParams(**dict(zip(FACTS, weights, strict=True))))
    taken = levels([task for count in takes for task in of.take(count)])
    for level, weight in zip(FACTS, weights, strict=True):
        assert abs(taken[level] - Fraction(sum(takes) * weight, sum(weights))) < 1


def test_few_hard_tasks_return_in_a_new_order_but_once_per_iteration() -> None:
    of = sampler(pool(easy=80, medium=15, hard=5), RatioParams(easy=0, medium=0, hard=1))
    laps = [[task.task_id for task in of.take(5)] for _ in range(4)]
    assert all(sorted(lap) == sorted(laps[0]) for lap in laps)
    assert len({tuple(lap) for lap in laps}) > 1
    assert len(of.take(9)) == 5, "fewer if the pool has no more"


def test_a_level_that_ran_out_is_skipped_and_the_others_keep_their_ratio() -> None:
    of = sampler(pool(easy=80, medium=80, hard=1))
    assert levels(of.take(22)) == {"easy": 6, "medium": 15, "hard": 1}
    assert levels(of.take(8)) == {"easy": 2, "medium": 5, "hard": 1}, "and is owed nothing"


@given(WEIGHTS, st.lists(st.integers(1, 12), min_size=2, max_size=5))
def test_ratio_sampling_resumes_from_its_state_exactly(weights: tuple[int, int, int], takes: list[int]) -> None:
    tasks, ratio = pool(easy=12, medium=5, hard=3), RatioParams(**dict(zip(FACTS, weights, strict=True)))
    whole = sampler(tasks, ratio)
    state = SamplerState()
    for count in takes:
        resumed = sampler(tasks[::-1], ratio, SamplerState(**json.loads(json.dumps(asdict(state)))))
        assert [task.task_id for task in resumed.take(count)] == [task.task_id for task in whole.take(count)]
        state = resumed.state


def test_tasks_of_a_level_of_weight_0_leave_the_pool() -> None:
    of = sampler(pool(easy=3, hard=5), RatioParams(easy=1, medium=1, hard=0))
    assert levels(of.take(10)) == {"easy": 3}
    with pytest.raises(ValueError, match=r"none of the tasks that rl\.task_sampling asks for"):
        sampler(pool(hard=5), RatioParams(easy=1, medium=0, hard=0))


def test_a_task_without_a_difficulty_is_refused_with_the_remedy() -> None:
    tasks = [*pool(easy=1), Task(task_id="x", intent="i", start_url="https://a/", website="a", source="test")]
    with pytest.raises(ValueError, match=r"x has none: give it a rubric \(`waymark tasks propose`\)"):
        sampler(tasks)
    assert len(TaskSampler(tasks, seed=1).take(2)) == 2


@pytest.mark.parametrize(
    ("sampling", "error"),
    [
        ({"name": "ratio", "easy": 1, "hard": 0}, r"rl\.task_sampling\.medium: is missing"),
        ({"name": "uniform", "easy": 1}, r"rl\.task_sampling\.easy = 1: unknown field where name = uniform"),
    ],
    ids=["none", "unused"],
)
def test_a_ratio_is_given_if_and_only_if_it_is_used(sampling: dict, error: str) -> None:
    with pytest.raises(RecipeError, match=error):
        parse(raw_recipe(rl__task_sampling=sampling))
