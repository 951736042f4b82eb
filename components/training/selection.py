"""Which policy of a phase is published, and when a phase goes back: decisions on validation tasks, by an interval.

Two policies are compared on the tasks on which both could be judged. The highest of several noisy rates is too high on
average; hence an earlier policy replaces the last one only if the whole interval of the difference favours it, at a
level for all comparisons together (Bonferroni):

- The published policy is chosen once. The interval is a percentile bootstrap of the mean difference over tasks
  (`components.statistics.bootstrap_mean`), as for candidates and champions, at the level 1 - 5% / m for m earlier
  policies.
- Each validation may find a fall below the best of all earlier ones. These are m (m - 1) / 2 pairs of the m validations
  of a phase, and a bootstrap of a few tasks is too narrow for so small a share. Hence the interval is that of McNemar's
  exact test, whose upper end lies below 0 by noise alone in at most 5% / (m (m - 1) / 2) of comparisons.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from components.params import CheckpointParams
from components.statistics import Interval, bootstrap_mean, equal_differences
from components.training.validation import Validation

RESAMPLES = 10_000
"""Bootstrap resamples of an interval."""
MAX_UNJUDGED = 0.25
"""A validation decides nothing if more than this share of its episodes was ended by the environment or could not be
judged: its rate is that of whatever tasks were left."""
FALSE_DECISIONS = 0.05
"""Share of phases, at most about, that go back, or publish an earlier policy, because of noise alone."""


@dataclass(frozen=True)
class Rollback:
    """A phase went back: after `iteration` to the policy and the optimiser of iteration `to`."""

    iteration: int
    to: int
    by_hand: bool


def since_rollback(figures: Sequence[Mapping[str, float]]) -> Sequence[Mapping[str, float]]:
    """The figures of the iterations since the phase last went back to an earlier policy, which has not learned from
    those before; all if it never did."""
    returns = [index for index, iteration in enumerate(figures, 1) if "rolled_back_to" in iteration]
    return figures[returns[-1] :] if returns else figures


class Choice(NamedTuple):
    """The policy that is published, by its iteration, and why."""

    iteration: int
    reason: str


class Comparison(NamedTuple):
    """The mean paired difference of two policies on `n` tasks, first minus second, with its interval."""

    difference: float
    interval: Interval
    n: int

    def __str__(self) -> str:
        low, high = (f"{100 * end:+.1f}" for end in self.interval)
        return f"{100 * self.difference:+.1f} points on {self.n} tasks, interval {low} to {high}"


def compare(first: Validation, second: Validation, seed: int, level: float = 0.95) -> Comparison:
    """Compare two policies on the validation tasks on which both were judged; without any, they are equal.

    A bootstrap of equal differences has no width, which is no certainty. Then the interval says how many other tasks
    may differ otherwise: at most the share that would show none in n tasks (Clopper and Pearson, 1934).
    """
    common = sorted(first.scores.keys() & second.scores.keys())
    if not common:
        return Comparison(0.0, Interval(-1.0, 1.0), 0)
    differences_N = np.array([first.scores[task] - second.scores[task] for task in common])
    mean = float(differences_N.mean())
    if np.ptp(differences_N) > 0:
        return Comparison(mean, bootstrap_mean(differences_N, RESAMPLES, seed, level), len(common))
    unseen = 1 - ((1 - level) / 2) ** (1 / len(common))
    return Comparison(mean, equal_differences(mean, unseen), len(common))


def compare_exactly(first: Validation, second: Validation, error: float) -> Comparison:
    """Compare two policies on the validation tasks on which both were judged, by McNemar's exact test (1947).

    If the policies are equally good, each of the tasks on which they differ is as likely to be the first's success as
    the second's. The interval is that of Clopper and Pearson (1934) for the first's share of them, times their share
    of all tasks. It is 0 to 0 if the policies differ on no task.

    Args:
        error: the largest chance that noise puts one end, such as the upper one, on the wrong side of 0.
    """
    common = first.scores.keys() & second.scores.keys()
    won = sum(first.scores[task] > second.scores[task] for task in common)
    lost = sum(first.scores[task] < second.scores[task] for task in common)
    differing = won + lost
    if not differing:
        return Comparison(0.0, Interval(0.0, 0.0), len(common))
    share = stats.binomtest(won, differing).proportion_ci(1 - 2 * error, method="exact")
    low, high = ((2 * end - 1) * differing / len(common) for end in (share.low, share.high))
    return Comparison((won - lost) / len(common), Interval(low, high), len(common))


def is_sound(record: Validation) -> bool:
    """Whether enough episodes of a validation were judged (`MAX_UNJUDGED`)."""
    judged = record.success.n + (record.heldout.n if record.heldout is not None else 0)
    return record.unjudged <= MAX_UNJUDGED * (judged + record.unjudged)


def best(
    validations: Sequence[Validation], available: Collection[int], rollbacks: Sequence[Rollback]
) -> Validation | None:
    """The validation with the highest success, of equal ones the latest; None if there is none that `is_sound`.

    Args:
        available: iterations that have a checkpoint; others do not count.
        rollbacks: at whose iterations the checkpoint is no longer that of the validated policy.
    """
    left = {rollback.iteration for rollback in rollbacks}
    candidates = [v for v in validations if is_sound(v) and v.iteration in available and v.iteration not in left]
    return max(candidates, key=lambda v: (v.success.rate, v.iteration), default=None)


def choose(
    iteration: int,
    validations: Sequence[Validation],
    available: Collection[int],
    rollbacks: Sequence[Rollback],
    params: CheckpointParams,
    seed: int,
    distrusted: bool = False,
) -> Choice:
    """The policy that a phase publishes after its last `iteration`.

    Args:
        distrusted: the judge that rewarded the last iterations is no longer trusted (`judge.trust.min_precision`). Then
            the best on validation is published even if the difference is within noise: the last has been rewarded for
            failures.
    """
    if rollbacks and rollbacks[-1].iteration == iteration:
        back = rollbacks[-1]
        return Choice(iteration, f"the policy of iteration {back.to}, to which the phase went back after its last")
    last = next((v for v in validations if v.iteration == iteration), None)
    top = best(validations, available, rollbacks)
    if not params.best or last is None or top is None:
        return Choice(iteration, "the last, without a choice by validation")
    if not is_sound(last) and not distrusted:
        return Choice(
            iteration, f"the last, without a choice: {last.unjudged} episodes of its validation were not judged"
        )
    if top.iteration == iteration:
        return Choice(iteration, f"the last, and the best on validation ({top.success.rate:.1%})")
    comparison = compare(top, last, seed, 1 - FALSE_DECISIONS / max(1, len(validations) - 1))
    if distrusted or comparison.interval.low > 0:
        return Choice(top.iteration, f"the best on validation; against the last: {comparison}")
    return Choice(
        iteration, f"the last; iteration {top.iteration} was higher on validation, but not beyond noise: {comparison}"
    )


def policy_to_restore(
    validations: Sequence[Validation],
    available: Collection[int],
    rollbacks: Sequence[Rollback],
    params: CheckpointParams,
    planned: int,
) -> tuple[Validation, Comparison] | None:
    """The policy to go back to after the newest validation, and how the newest compares with it; None to go on.

    Args:
        planned: number of validations of the whole phase, at most so many of which are compared in pairs.
    """
    if params.rollback is None or not validations or any(not rollback.by_hand for rollback in rollbacks):
        return None
    newest = validations[-1]
    if not is_sound(newest) or (rollbacks and rollbacks[-1].iteration == newest.iteration):
        return None
    top = best(validations[:-1], available, rollbacks)
    if top is None:
        return None
    pairs = planned * (planned - 1) // 2
    comparison = compare_exactly(newest, top, FALSE_DECISIONS / max(1, pairs))
    falls = -comparison.difference > params.rollback and comparison.interval.high < 0
    return (top, comparison) if falls else None
