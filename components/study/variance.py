"""Where the differences between the success rates of runs come from: the seeds, the draw of tasks, or single episodes.

The success of seed s on task t is taken as a mean plus a part of the seed, a part of the task and a rest (a two-way
layout without repetitions; Searle, Casella and McCulloch 1992, "Variance Components", chapter 4). Tasks are drawn
within their families, so a task's part is what it differs from the mean of its family. With S seeds, T tasks in F
families and the mean squares MS,

    rest  = MS_rest
    seeds = (MS_seeds - MS_rest) / T
    tasks = (MS_tasks within families - MS_rest) / S

are unbiased estimates of the three variances. One below 0 counts as 0.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import stats

from components.records import Record
from components.statistics import Interval
from components.study.effects import Scores

LEVEL = 0.95


class VarianceSources(Record):
    """Standard deviations of a run's success rate, as shares of 1, by what causes them.

    `seeds` is between policies that were trained with other seeds, beyond what single episodes explain; its interval is
    exact for normal parts, and wide for few seeds. `tasks` is what another draw of as many tasks of the same families
    would add, the same for all seeds. `rest` is what is left: tasks that one seed solves and another does not.
    `observed` is the standard deviation over the seeds as it was measured, which has `seeds` and `rest` in it.
    """

    observed: float
    seeds: float
    seeds_ci95: Interval
    tasks: float
    rest: float
    runs: int
    of_tasks: int


def variance_sources(scores: Mapping[int, Scores], family_of: Mapping[str, str]) -> VarianceSources | None:
    """The sources for the tasks that are judged in every run; None with fewer than two seeds or too few tasks.

    Args:
        scores: by seed, the success by task. The seeds have the same tasks.
        family_of: each task's family.
    """
    judged = [{task for task, score in of_seed.items() if score is not None} for of_seed in scores.values()]
    common = sorted(set.intersection(*judged)) if judged else []
    families = sorted({family_of[task] for task in common})
    S, T, F = len(scores), len(common), len(families)
    if S < 2 or T - F < 1:
        return None
    scores_ST = np.array([[of_seed[task] for task in common] for of_seed in scores.values()], dtype=float)
    mean_S1, mean_1T = scores_ST.mean(axis=1, keepdims=True), scores_ST.mean(axis=0, keepdims=True)
    family_T = np.array([families.index(family_of[task]) for task in common])
    within_T = mean_1T[0] - np.array([mean_1T[0, family_T == family].mean() for family in range(F)])[family_T]
    by_seed = T * float(mean_S1.var(ddof=1))
    by_task = S * float((within_T**2).sum()) / (T - F)
    df_rest = (S - 1) * (T - 1)
    rest = float(((scores_ST - mean_S1 - mean_1T + scores_ST.mean()) ** 2).sum()) / df_rest
    bounds = [by_seed / stats.f.ppf(share, S - 1, df_rest) for share in ((1 + LEVEL) / 2, (1 - LEVEL) / 2)]
    low, high = (root((bound - rest) / T) for bound in bounds)
    return VarianceSources(
        observed=root(by_seed / T),
        seeds=root((by_seed - rest) / T),
        seeds_ci95=Interval(low, high),
        tasks=root((by_task - rest) / S / T),
        rest=root(rest / T),
        runs=S,
        of_tasks=T,
    )


def root(variance: float) -> float:
    """The standard deviation of a variance; 0 for an estimate below 0."""
    return float(np.sqrt(max(0.0, variance)))
