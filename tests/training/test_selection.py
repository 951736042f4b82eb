"""Which policy is published, and when a phase goes back: by hand, and against policies that differ by noise alone."""

from __future__ import annotations

import random

import pytest

from components.params import CheckpointParams, RecipeError
from components.training.selection import Rollback, best, choose, compare, compare_exactly, policy_to_restore
from components.training.validation import Validation
from tests.samples import recipe
from tests.training.validations import watched

GUARDED = CheckpointParams(rollback=0.1)


def policy(iteration: int, successes: int, n: int = 40) -> Validation:
    """A policy that succeeds on the first tasks of n."""
    return watched(iteration, [], {f"{task:02}": float(task < successes) for task in range(n)})


def noisy(iteration: int, rng: random.Random, n: int) -> Validation:
    """A policy that succeeds on each task with a chance of its own, which is the same at every iteration."""
    return watched(iteration, [], {str(task): float(rng.random() < (task + 1) / (n + 1)) for task in range(n)})


def test_the_paired_difference_is_taken_on_common_tasks_alone():
    comparison = compare(watched(1, [], {"a": 1.0, "b": 1.0, "c": 0.0}), watched(2, [], {"a": 0.0, "b": 1.0}), 0)
    assert (comparison.difference, comparison.n) == (0.5, 2)
    assert compare(watched(1, [], {"a": 1.0}), watched(2, [], {"b": 1.0}), 0).interval == (-1.0, 1.0)


def test_an_earlier_policy_is_published_only_if_it_is_better_beyond_noise():
    far, near = [policy(0, 10), policy(4, 36), policy(8, 20)], [policy(0, 10), policy(4, 22), policy(8, 20)]
    kept, params = [0, 4, 8], CheckpointParams()
    chosen = choose(8, far, kept, [], params, 0)
    assert chosen.iteration == 4
    assert "+40.0 points on 40 tasks" in chosen.reason
    assert choose(8, near, kept, [], params, 0).iteration == 8
    assert choose(8, far, [8], [], params, 0).iteration == 8, "its checkpoint is gone"
    assert choose(8, far, kept, [], CheckpointParams(best=False), 0).iteration == 8
    assert choose(8, [], kept, [], params, 0).iteration == 8, "a phase that is not validated publishes its last policy"


def test_after_a_judge_that_erred_the_best_policy_is_published():
    near, params = [policy(0, 10), policy(4, 22), policy(8, 20)], CheckpointParams()
    assert choose(8, near, [0, 4, 8], [], params, 0).iteration == 8
    assert choose(8, near, [0, 4, 8], [], params, 0, distrusted=True).iteration == 4


def test_a_validation_of_which_little_was_judged_decides_nothing():
    few = watched(4, [], {"00": 1.0, "01": 1.0}).model_copy(update={"unjudged": 38})
    whole = [policy(0, 20), policy(8, 22)]
    kept = [0, 4, 8]
    assert choose(8, [whole[0], few, whole[1]], kept, [], CheckpointParams(), 0).iteration == 8
    assert best([whole[0], few], kept, []).iteration == 0
    fallen = watched(8, [], {"38": 0.0, "39": 0.0}).model_copy(update={"unjudged": 38})
    assert policy_to_restore([policy(4, 40), fallen], kept, [], GUARDED, 4) is None
    last = choose(8, [policy(4, 40), fallen], kept, [], CheckpointParams(), 0)
    assert last.iteration == 8
    assert "38 episodes of its validation were not judged" in last.reason
    assert choose(8, [policy(4, 40), fallen], kept, [], CheckpointParams(), 0, distrusted=True).iteration == 4


@pytest.mark.parametrize(("n", "is_certain"), [(1, False), (2, False), (5, False), (6, True), (64, True)])
def test_equal_differences_on_few_tasks_are_no_certainty(n, is_certain):
    comparison = compare(policy(1, n, n), policy(2, 0, n), 0)
    assert comparison.difference == 1.0
    assert (comparison.interval.low > 0) == is_certain
    same = compare(policy(1, n, n), policy(2, n, n), 0).interval
    assert same.low < 0 < same.high


def test_of_equally_good_policies_the_latest_is_the_best():
    assert best([policy(0, 20), policy(4, 30), policy(8, 30)], [0, 4, 8], []).iteration == 8
    assert best([policy(4, 30), policy(8, 30)], [4, 8], [Rollback(8, 4, by_hand=False)]).iteration == 4
    assert best([], [4], []) is None


def test_a_planted_fall_goes_back_to_the_best_policy_once():
    fallen = [policy(0, 20), policy(4, 36), policy(8, 24)]
    restore = policy_to_restore(fallen, [0, 4, 8], [], GUARDED, 4)
    assert restore is not None
    assert restore[0].iteration == 4
    assert restore[1].difference == pytest.approx(-0.3)
    assert policy_to_restore(fallen, [0, 4, 8], [], CheckpointParams(), 4) is None, "the recipe does not ask for it"
    assert policy_to_restore(fallen, [8], [], GUARDED, 4) is None
    again = [*fallen, policy(12, 20)]
    assert policy_to_restore(again, [4, 12], [Rollback(8, 4, by_hand=False)], GUARDED, 4) is None
    assert policy_to_restore(again, [4, 12], [Rollback(8, 4, by_hand=True)], GUARDED, 4) is not None


def test_a_fall_within_what_the_recipe_allows_goes_on():
    assert policy_to_restore([policy(0, 40), policy(4, 37)], [0, 4], [], GUARDED, 4) is None


def test_noise_alone_seldom_changes_the_choice():
    """60 phases of 4 validations of a policy that never changes, with its successes drawn anew each time."""
    rng, changed = random.Random(0), 0
    for _ in range(60):
        validations = [noisy(iteration, rng, 36) for iteration in range(4)]
        changed += choose(3, validations, range(4), [], CheckpointParams(), 0).iteration != 3
    assert changed <= 7, "5% of 60, and two standard deviations"


@pytest.mark.parametrize(("n", "validations"), [(24, 3), (24, 10), (64, 10)])
def test_noise_alone_seldom_goes_back(n, validations):
    """100 phases of a policy that succeeds on each task with the same chance of 0.7 at every validation."""
    rng, returns = random.Random(0), 0
    for _ in range(100):
        scores = [{str(task): float(rng.random() < 0.7) for task in range(n)} for _ in range(validations)]
        phase = [watched(iteration, [], by_task) for iteration, by_task in enumerate(scores)]
        returns += any(
            policy_to_restore(phase[: count + 1], range(validations), [], GUARDED, validations)
            for count in range(1, validations)
        )
    assert returns <= 5


@pytest.mark.parametrize(("validations", "tasks"), [(2, 5), (3, 6), (5, 8), (10, 10)])
def test_going_back_takes_a_fall_of_a_few_tasks(validations, tasks):
    """Noise loses k tasks and gains none with a chance of 2^-k, which is 5% / 1, 3, 10 and 45 pairs at most."""
    params = CheckpointParams(rollback=0.05)
    for n in (24, 64):
        before, fallen, spared = policy(0, n, n), policy(1, n - tasks, n), policy(1, n - tasks + 1, n)
        assert policy_to_restore([before, fallen], [0, 1], [], params, validations) is not None
        assert policy_to_restore([before, spared], [0, 1], [], params, validations) is None


def test_the_exact_interval_is_that_of_the_tasks_that_differ():
    """1 of 8 tasks is won and 3 are lost: the ends are shares x with P(at least 1 of 4) and P(at most 1 of 4) = 5%."""
    first = {str(task): float(task in (0, 1)) for task in range(8)}
    second = {str(task): float(task in (1, 2, 3, 4)) for task in range(8)}
    comparison = compare_exactly(watched(2, [], first), watched(1, [], second), 0.05)
    assert (comparison.difference, comparison.n) == (-0.25, 8)
    low, high = (comparison.interval.low + 0.5, comparison.interval.high + 0.5)
    assert 1 - (1 - low) ** 4 == pytest.approx(0.05)
    assert (1 - high) ** 4 + 4 * high * (1 - high) ** 3 == pytest.approx(0.05)
    same = watched(1, [], first)
    assert compare_exactly(same, same, 0.05).interval == (0.0, 0.0)


def test_a_phase_that_went_back_at_its_end_publishes_that_policy():
    chosen = choose(8, [policy(4, 36), policy(8, 20)], [4, 8], [Rollback(8, 4, by_hand=True)], CheckpointParams(), 0)
    assert chosen.iteration == 8
    assert "the policy of iteration 4" in chosen.reason


def test_recipes_that_go_back_without_a_validation_are_refused():
    with pytest.raises(RecipeError, match=r"set validation\.every"):
        recipe(rl__checkpoints={"rollback": 0.1})
    with pytest.raises(RecipeError, match="tasks = 0"):
        recipe(rl__validation={"every": 2})
