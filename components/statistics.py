"""95% intervals, and the records of figures that have one. Every package uses these.

`bootstrap_mean` resamples tasks and accepts scores of any kind. Its interval has no width where all scores are equal,
which says little about three tasks. `wilson` needs only a rate and a count and has a width there, so breakdowns use it.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from components.records import Record


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
    """The mean success over `n` tasks with its bootstrap interval over these tasks."""

    ci95: Interval


def bootstrap_mean(values_N: np.ndarray, resamples: int, seed: int, level: float = 0.95) -> Interval:
    """Percentile bootstrap of the mean. For one value, or equal values, both ends are the mean.

    Shape: values_N is (N,), one value per independent trial, such as a task.
    """
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


def success_rate(scores_N: np.ndarray, resamples: int, seed: int) -> SuccessRate:
    """The mean of the tasks' scores with its bootstrap interval.

    Shape: scores_N is (N,), the success of each task from 0 to 1.
    """
    return SuccessRate(rate=float(scores_N.mean()), n=len(scores_N), ci95=bootstrap_mean(scores_N, resamples, seed))


@cache
def _quantile(level: float) -> float:
    """The quantile of the normal distribution for a two-sided interval."""
    return float(stats.norm.ppf((1 + level) / 2))


def wilson(rate: float, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval (1927) of a rate over `n` trials. The rate need not be a multiple of 1/n."""
    z = _quantile(level)
    spread = z * z / n
    centre = (rate + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(rate * (1 - rate) / n + spread / (4 * n))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


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
