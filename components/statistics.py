"""95% intervals, and the records of figures that have one. Every package uses these.

Rates have Wilson's interval. The percentile bootstrap of 20 tasks of which a tenth succeeds covers the truth in 88% of
samples, and where all scores are equal it has no width; Wilson's covers it in 96% and has a width there
(`tests/test_statistics.py` simulates both). Tasks with several attempts have scores between 0 and 1, and count as more
tasks as their variance is smaller (`effective_tasks`), but never as more than they have attempts. `clustered_share` is
for shares of trials that depend on one another. `bootstrap_mean` serves differences, which are no shares.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from components.records import Record

ROUNDING = 1e-12
"""A variance up to this is none."""


class Interval(NamedTuple):
    """A 95% interval. In JSON it is a list of two numbers."""

    low: float
    high: float


class Estimate(Record):
    """A figure with its 95% interval."""

    value: float
    ci95: Interval


class Rate(Record):
    """Successes as a share of `n` trials, 0 to 1."""

    rate: float
    n: int


class SuccessRate(Rate):
    """The mean success over `n` tasks with its interval over these tasks."""

    ci95: Interval


def bootstrap_mean(values_N: np.ndarray, resamples: int, seed: int, level: float = 0.95) -> Interval:
    """Percentile bootstrap of the mean. For one value, or equal values, both ends are the mean, which is no certainty.

    Shape: values_N is (N,), one value per independent trial, such as a task.

    Raises:
        ValueError: there are no values, or one is not a finite number.
    """
    require_numbers(values_N)
    if len(values_N) < 2 or np.ptp(values_N) == 0:
        return Interval(float(values_N.mean()), float(values_N.mean()))
    result = stats.bootstrap(
        (values_N,),
        np.mean,
        n_resamples=resamples,
        batch=1000,
        method="percentile",
        confidence_level=level,
        rng=np.random.default_rng(seed),
    )
    return Interval(float(result.confidence_interval.low), float(result.confidence_interval.high))


def equal_differences(value: float, unseen: float) -> Interval:
    """The interval of a mean of differences that are all equal, which a bootstrap gives no width.

    Args:
        value: the differences, from -1 to 1.
        unseen: the largest share of other tasks whose differences may be -1 or 1 without one of them having been seen.
    """
    return Interval(value - unseen * (value + 1), value + unseen * (1 - value))


def success_rate(scores_N: np.ndarray, episodes: int | None = None) -> SuccessRate:
    """The mean of the tasks' scores with Wilson's interval over `effective_tasks`.

    Shape: scores_N is (N,), the success of each task from 0 to 1.

    Args:
        episodes: number of attempts at all tasks together; None is one per task.

    Raises:
        ValueError: there are no scores, or one is not from 0 to 1.
    """
    require_numbers(scores_N)
    if scores_N.min() < 0 or scores_N.max() > 1:
        raise ValueError(f"a task's success is from 0 to 1, these are from {scores_N.min()} to {scores_N.max()}")
    rate = float(scores_N.mean())
    return SuccessRate(rate=rate, n=len(scores_N), ci95=wilson(rate, effective_tasks(scores_N, episodes)))


def effective_tasks(scores_N: np.ndarray, episodes: int | None = None) -> float:
    """The number of tasks with one attempt each whose rate has the variance of these scores' mean.

    It is `n` for scores of 0 and 1, and more for shares of several attempts, which vary less (the effective sample size
    of Korn and Graubard 1998, there for surveys). It is at most `episodes`, as if all attempts were independent: a few
    scores that are alike by chance have a variance near 0. Equal scores show no variance, and count as `n`.

    Shape: scores_N is (N,), from 0 to 1.

    Args:
        episodes: number of attempts at all tasks together; None is one per task.
    """
    n, rate = len(scores_N), float(scores_N.mean())
    if np.ptp(scores_N) == 0 or set(np.unique(scores_N)) <= {0.0, 1.0}:
        return float(n)
    return float(np.clip(n * rate * (1 - rate) / float(scores_N.var(ddof=1)), n, max(n, episodes or n)))


def clustered_share(part_T: np.ndarray, whole_T: np.ndarray) -> Estimate:
    """A share of trials of which those of one cluster are not independent, such as attempts at one task.

    The share is the sum of `part_T` over the sum of `whole_T`. Its interval is Wilson's over the effective number of
    trials, whose binomial variance is the linearised variance of the ratio over clusters (Korn and Graubard 1998); it
    is at most the number of trials, and without variance the number of clusters that have trials. Clusters of one trial
    are independent trials.

    Shape: part_T and whole_T are (T,), counts per cluster.

    Raises:
        ValueError: there is no trial.
    """
    trials, clusters = float(whole_T.sum()), int((whole_T > 0).sum())
    if not trials:
        raise ValueError("a share of no trials: judge at least one")
    share = float(part_T.sum()) / trials
    if whole_T.max() <= 1:
        return Estimate(value=share, ci95=wilson(share, trials))
    variance = float(((part_T - share * whole_T) ** 2).sum()) / trials**2 * clusters / max(1, clusters - 1)
    effective = min(trials, share * (1 - share) / variance) if variance > ROUNDING else clusters
    return Estimate(value=share, ci95=wilson(share, effective))


@cache
def _quantile(level: float) -> float:
    """The quantile of the normal distribution for a two-sided interval."""
    return float(stats.norm.ppf((1 + level) / 2))


def wilson(rate: float, n: float, level: float = 0.95) -> Interval:
    """Wilson's score interval (1927) of a rate over `n` trials. The rate need not be a multiple of 1/n.

    Raises:
        ValueError: there is no trial, or the rate is not from 0 to 1.
    """
    if not (n > 0 and math.isfinite(n)):
        raise ValueError(f"a rate over {n} trials has no interval: judge at least one task first")
    if not 0 <= rate <= 1:
        raise ValueError(f"a rate is from 0 to 1, not {rate}: leave unjudged tasks out of it")
    z = _quantile(level)
    spread = z * z / n
    centre = (rate + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(rate * (1 - rate) / n + spread / (4 * n))
    return Interval(max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half)))


def newcombe(first: Rate, second: Rate, level: float = 0.95) -> Interval:
    """Interval of the difference of two independent rates, first minus second (Newcombe 1998, method 10).

    It combines the two Wilson intervals, so it has a width at rates of 0 and 1.
    """
    (low_1, high_1), (low_2, high_2) = wilson(first.rate, first.n, level), wilson(second.rate, second.n, level)
    difference = first.rate - second.rate
    return Interval(
        difference - math.hypot(first.rate - low_1, high_2 - second.rate),
        difference + math.hypot(high_1 - first.rate, second.rate - low_2),
    )


def require_numbers(values_N: np.ndarray) -> None:
    """Refuse values from which no mean can be computed.

    Raises:
        ValueError: there is no value, or one is no number.
    """
    if not len(values_N):
        raise ValueError("no values, so there is no mean and no interval: judge at least one task first")
    if not np.isfinite(values_N).all():
        raise ValueError(
            f"{int((~np.isfinite(values_N)).sum())} of {len(values_N)} values are no finite numbers: leave unjudged "
            "tasks out of a rate"
        )
