"""Splits the differences between the success rates of RL runs by source: first policy, tasks and attempts.

In a study whose arms set only `rl.task_seed` and `rl.sampling_seed`, RL starts from each of A policies with B draws of
tasks, and runs each draw of tasks with C draws of attempts. A draw is a seed: with adaptive task sampling the tasks
also follow from the attempts, and what they change so is a part of the effect of the attempts. The success rate of a
run is modelled as a mean plus an effect of the policy, an effect of the draw of tasks within the policy and an effect
of the draw of attempts within the draw of tasks (a nested layout; Searle, Casella and McCulloch 1992, "Variance
Components", chapter 3). With the mean squares of the rates,

    attempts = MS_attempts - MS_episodes
    tasks    = (MS_tasks - MS_attempts) / C
    policy   = (MS_policies - MS_tasks) / (B C)

are unbiased estimates of the three variances. MS_episodes is what single episodes explain: runs with the same seed of
tasks are compared on each test task, and the mean square of their differences is divided by the number of test tasks.
An estimate below 0 counts as 0. With C = 1, tasks and attempts are one source, and MS_episodes compares runs from the
same policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import stats

from components.records import Record
from components.statistics import Interval
from components.study.effects import Scores
from components.study.variance import LEVEL, root


class Draw(NamedTuple):
    """Identifies a run: the seed of everything before RL, and RL's seeds of tasks and of attempts."""

    policy: int
    tasks: int
    attempts: int


class Source(Record):
    """A standard deviation of a run's success rate, as a share of 1. The interval holds about 95% of the time for
    normal parts (Williams 1962), and is wide for few runs."""

    sd: float
    ci95: Interval


class DrawSources(Record):
    """What changes a run's success rate, by source.

    `policy` is another policy to begin with, from another seed of all stages before RL; `tasks` another seed of
    RL's tasks; `attempts` another one of attempts and of the order of turns in the updates. It is None if each
    draw of tasks was run once: then `tasks` is both. `episodes` is what single test episodes explain, which is in none
    of the three.
    """

    policy: Source
    tasks: Source
    attempts: Source | None
    episodes: float
    policies: int
    draws_of_tasks: int
    """Of each policy."""
    draws_of_attempts: int
    """Of each draw of tasks."""
    of_tasks: int
    """Number of test tasks."""


def draw_sources(scores: Mapping[Draw, Scores]) -> DrawSources | None:
    """The sources for the tasks that are judged in every run. None unless there are at least two policies, each with as
    many draws of tasks, at least two, and each of these with as many draws of attempts.

    Args:
        scores: the success by task of each run.
    """
    nested: dict[int, dict[int, list[Draw]]] = {}
    for draw in sorted(scores):
        nested.setdefault(draw.policy, {}).setdefault(draw.tasks, []).append(draw)
    numbers = {(len(of_policy), len(draws)) for of_policy in nested.values() for draws in of_policy.values()}
    judged = [{task for task, score in of_run.items() if score is not None} for of_run in scores.values()]
    common = sorted(set.intersection(*judged)) if judged else []
    if len(nested) < 2 or len(numbers) != 1 or len(common) < 2:
        return None
    A, T, (B, C) = len(nested), len(common), numbers.pop()
    if B < 2:
        return None
    scores_ABCT = np.empty((A, B, C, T))
    for a, b, c in product(range(A), range(B), range(C)):
        draw = [*[*nested.values()][a].values()][b][c]
        scores_ABCT[a, b, c] = [scores[draw][task] for task in common]
    rates_ABC = scores_ABCT.mean(axis=3)
    rates_AB, rates_A = rates_ABC.mean(axis=2), rates_ABC.mean(axis=(1, 2))
    alike = 1 if C == 1 else 2  # the axis of the runs that have most in common
    unlike_ABCT = scores_ABCT - scores_ABCT.mean(axis=alike, keepdims=True)
    unlike_ABCT -= unlike_ABCT.mean(axis=3, keepdims=True)
    df = {"policy": A - 1, "tasks": A * (B - 1), "attempts": A * B * (C - 1)}
    df["episodes"] = df["attempts" if C > 1 else "tasks"] * (T - 1)
    squares = {
        "policy": B * C * _square_sum(rates_A - rates_A.mean()),
        "tasks": C * _square_sum(rates_AB - rates_A[:, None]),
        "attempts": _square_sum(rates_ABC - rates_AB[:, :, None]),
        "episodes": _square_sum(unlike_ABCT) / T,
    }
    mean_squares = {name: total / df[name] for name, total in squares.items() if df[name]}

    def source(name: str, below: str, runs: int) -> Source:
        above, rest = mean_squares[name], mean_squares[below]
        quantiles = [stats.f.ppf(share, df[name], df[below]) for share in ((1 + LEVEL) / 2, (1 - LEVEL) / 2)]
        low, high = (root((above / quantile - rest) / runs) for quantile in quantiles)
        return Source(sd=root((above - rest) / runs), ci95=Interval(low, high))

    return DrawSources(
        policy=source("policy", "tasks", B * C),
        tasks=source("tasks", "attempts" if C > 1 else "episodes", C),
        attempts=source("attempts", "episodes", 1) if C > 1 else None,
        episodes=root(mean_squares["episodes"]),
        policies=A,
        draws_of_tasks=B,
        draws_of_attempts=C,
        of_tasks=T,
    )


def _square_sum(values: np.ndarray) -> float:
    return float((values**2).sum())
