from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from components.params import RatioParams
from components.records import Task
from components.tasks import mixture, shuffled
from components.tasks.difficulty import LEVELS


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


def test_biased_to_hard_is_two_easy_five_medium_and_three_hard_in_turn() -> None:
    # due at 1/4, 3/4 (easy), 1/10, 3/10, 5/10, 7/10, 9/10 (medium) and 1/6, 3/6, 5/6 (hard); easy before hard at a tie
    order = mixture(RatioParams(easy=2, medium=5, hard=3))
    assert "".join(level[0] for level in order) == "mhemmhmehm"


def test_a_level_of_weight_0_is_never_drawn() -> None:
    assert mixture(RatioParams(easy=1, medium=0, hard=0)) == ["easy"]
    assert mixture(RatioParams(easy=0, medium=1, hard=0)) == ["medium"]


@given(st.tuples(*[st.integers(0, 30)] * 3).filter(any))
def test_every_run_of_draws_keeps_the_ratio_up_to_rounding(weights: tuple[int, int, int]) -> None:
    ratio = RatioParams(easy=weights[0], medium=weights[1], hard=weights[2])
    order = mixture(ratio) * 2
    for drawn in range(len(order) + 1):
        for level, weight in zip(LEVELS, weights, strict=True):
            assert abs(order[:drawn].count(level) - Fraction(drawn * weight, sum(weights))) < 1


def test_a_ratio_of_zeros_is_refused() -> None:
    with pytest.raises(ValidationError, match="0:0:0 samples nothing"):
        RatioParams(easy=0, medium=0, hard=0)
