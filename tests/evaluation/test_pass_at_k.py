"""pass@k is the unbiased estimate, by task, on one set of tasks for all k."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.evaluation import Episode, FailureKind, pass_at_k
from components.evaluation.pass_at_k import unbiased
from components.records import Termination


def tried(**outcomes):
    """Episodes of tasks by id: a letter per attempt, s for success, f for failure, e for a judge's error."""
    return [
        Episode(
            trajectory_id=f"{name} {index}",
            task_id=name,
            family="click-test",
            split="eval",
            success={"s": True, "f": False, "e": None}[letter],
            failure={"s": None, "f": FailureKind.WRONG, "e": FailureKind.UNJUDGED}[letter],
            termination=Termination.DONE,
            turns=1,
            response_tokens=1,
        )
        for name, letters in outcomes.items()
        for index, letter in enumerate(letters)
    ]


def rates(of):
    return {k: one.rate for k, one in pass_at_k(of).items()}


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        (1, 0, 1, 0.0),
        (1, 1, 1, 1.0),
        (4, 1, 1, 1 / 4),
        (4, 1, 2, 1 / 2),  # of 6 pairs 3 hold the success
        (4, 2, 2, 5 / 6),  # of 6 pairs 1 is without one
        (4, 1, 4, 1.0),
        (4, 0, 4, 0.0),
        (5, 2, 3, 9 / 10),  # of 10 triples 1 is without one
        (10, 3, 5, 11 / 12),  # 1 - C(7,5)/C(10,5) = 1 - 21/252
        (10, 8, 3, 1.0),  # no three failures are left
    ],
)
def test_the_estimate_is_the_one_worked_out_by_hand(n, c, k, expected):
    assert unbiased(n, c, k) == pytest.approx(expected)


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_the_estimate_is_the_share_of_k_subsets_with_a_success(outcomes, data):
    k = data.draw(st.integers(1, len(outcomes)))
    subsets = list(combinations(outcomes, k))
    assert unbiased(len(outcomes), sum(outcomes), k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from("abcdef"), st.text("sf", min_size=5, max_size=5), min_size=1))
def test_pass_at_1_is_the_mean_and_the_numbers_grow_with_k(outcomes):
    found = rates(tried(**outcomes))
    assert list(found) == ["1", "2", "4", "5"]
    assert found["1"] == pytest.approx(sum(letters.count("s") / 5 for letters in outcomes.values()) / len(outcomes))
    values = list(found.values())
    assert all(low <= high + 1e-12 for low, high in pairwise(values))
    assert found["5"] == pytest.approx(sum("s" in letters for letters in outcomes.values()) / len(outcomes))


def test_all_tasks_have_equal_weight():
    # a: 1/4 and 1/2, b: 0 and 0
    assert rates(tried(a="sfff", b="ffff")) == pytest.approx({"1": 0.125, "2": 0.25, "4": 0.5})


def test_the_interval_is_over_tasks():
    found = pass_at_k(tried(a="ssss", b="ffff", c="ssss", d="ffff"))["1"]
    assert (found.rate, found.n) == (0.5, 4)
    assert found.ci95 == pytest.approx((0.150039, 0.849961), abs=1e-5)  # Wilson: 2 of 4 tasks


def test_a_task_whose_judge_failed_now_and_then_is_left_out_of_all_k():
    tasks = {f"t{index}": "sf" for index in range(10)} | {"x": "fe"}
    found = pass_at_k(tried(**tasks))
    assert {k: (one.rate, one.n) for k, one in found.items()} == {"1": (0.5, 10), "2": (1.0, 10)}


def test_many_outages_lower_the_largest_k_rather_than_the_number_of_tasks():
    found = pass_at_k(tried(a="ssff", b="sfee", c="fsee"))
    assert {k: one.n for k, one in found.items()} == {"1": 3, "2": 3}


def test_one_attempt_has_no_pass_at_k():
    assert pass_at_k(tried(a="s", b="f")) == {}


@pytest.mark.parametrize(("n", "c", "k"), [(2, 1, 3), (2, 3, 1), (2, 1, 0)])
def test_a_k_above_the_number_of_attempts_is_refused(n, c, k):
    with pytest.raises(ValueError, match=f"pass@{k} needs at least {k} attempts, there are {n}"):
        unbiased(n, c, k)
