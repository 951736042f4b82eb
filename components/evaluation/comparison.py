"""Whether one policy, or one judge, beats another on the tasks that both attempted.

The size of the difference has a paired bootstrap interval over these tasks. A promotion also needs an exact paired test
and a least number of tasks (`deserves_promotion`), since the bootstrap of few tasks, or of tasks that all agree, is too
sure of itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from components.evaluation.errors import EvaluationError
from components.records import Record
from components.statistics import Interval, bootstrap_mean, equal_differences, require_numbers, wilson

ALPHA = 0.05
"""A promotion's largest p-value, two-sided."""
_MAX_ATTEMPTS = 1000
"""Shares are read as fractions with at most this denominator: the product of the attempts of both sides at a task."""
_MAX_STEPS = 5040
"""Largest common denominator with which sums are counted exactly. All shares of up to 10 attempts have one of 2520."""


class Difference(Record):
    """Difference of two success rates, first minus second."""

    diff: float
    ci95: Interval


class PairedDifference(Difference):
    """The difference on `n` tasks that both sides attempted. `p_value` is that of `exact_paired_p`."""

    n: int
    p_value: float


def paired_difference(
    first: Mapping[str, float | None], second: Mapping[str, float | None], bootstrap: int, seed: int
) -> PairedDifference:
    """Paired bootstrap over tasks of the success of `first` minus that of `second`.

    Tasks that are unjudged on either side are left out of the comparison; `n` counts the others.

    Args:
        first, second: success by task id, as `scores` returns it.
        bootstrap: resamples.

    Raises:
        EvaluationError: the two sides have different tasks, or no task that is judged on both.
        ValueError: a success is no number.
    """
    if first.keys() != second.keys():
        only_first, only_second = sorted(first.keys() - second.keys()), sorted(second.keys() - first.keys())
        sides = [
            f"the {side} lacks {first_names(tasks)}"
            for side, tasks in (("second", only_first), ("first", only_second))
            if tasks
        ]
        raise EvaluationError(
            f"cannot pair evaluations of different tasks: {'; '.join(sides)}; evaluate both on one pool"
        )
    pairs = [
        (first[task], second[task]) for task in sorted(first) if first[task] is not None and second[task] is not None
    ]
    if not pairs:
        raise EvaluationError("no task has a verdict on both sides; run the judge on both evaluations first")
    diffs_N = np.array(pairs, dtype=float) @ np.array([1.0, -1.0])
    require_numbers(diffs_N)
    return PairedDifference(
        diff=float(diffs_N.mean()),
        ci95=_interval(diffs_N, bootstrap, seed),
        n=len(pairs),
        p_value=exact_paired_p(diffs_N),
    )


def _interval(diffs_N: np.ndarray, bootstrap: int, seed: int) -> Interval:
    """The bootstrap interval; if all differences are equal, as far as unseen tasks may still differ by 1 either way."""
    if np.ptp(diffs_N) > 0:
        return bootstrap_mean(diffs_N, bootstrap, seed)
    return equal_differences(float(diffs_N[0]), wilson(0.0, len(diffs_N)).high)


def exact_paired_p(diffs_N: np.ndarray) -> float:
    """Two-sided p-value of the exact sign-flip test (Fisher 1935): the chance of a mean at least this far from 0.

    If both sides are equally good, each task's difference is as likely to have the other sign. For differences of -1, 0
    and 1 this is McNemar's exact test. Differences are shares of attempts, so they are whole multiples of one fraction,
    and their sums can be counted. If that fraction is smaller than 1/`_MAX_STEPS`, differences are rounded to it, and
    sums that rounding may have brought below the observed one count, too: the p-value is then an upper bound.

    Shape: diffs_N is (N,), from -1 to 1.

    Raises:
        ValueError: there is no difference, or one is no number.
    """
    require_numbers(diffs_N)
    shares = [Fraction(float(diff)).limit_denominator(_MAX_ATTEMPTS) for diff in diffs_N]
    unit = math.lcm(*(share.denominator for share in shares))
    slack = 0
    if unit > _MAX_STEPS:
        unit, slack = _MAX_STEPS, len(shares)
    signed_N = np.array([round(share * unit) for share in shares])
    observed, steps_N = abs(int(signed_N.sum())) - slack, np.abs(signed_N[signed_N != 0])
    if not len(steps_N):
        return 1.0
    reach = int(steps_N.sum())
    chances_S = np.zeros(2 * reach + 1)  # by the sum, from -reach to reach
    chances_S[reach] = 1.0
    for step in steps_N:
        chances_S = (np.roll(chances_S, step) + np.roll(chances_S, -step)) / 2
    sums_S = np.abs(np.arange(-reach, reach + 1))
    return min(1.0, float(chances_S[sums_S >= observed].sum()))


def beats(difference: Difference) -> bool:
    """True if the whole interval is above 0."""
    return difference.ci95.low > 0


def deserves_promotion(difference: PairedDifference, min_tasks: int) -> bool:
    """True if the first side may replace the second: the interval is above 0, the exact test is below 5%, and at least
    `min_tasks` tasks were judged on both sides."""
    return beats(difference) and difference.p_value < ALPHA and difference.n >= min_tasks


def first_names(names: Sequence[str], limit: int = 5) -> str:
    """The first names, separated by commas, and how many more there are."""
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
