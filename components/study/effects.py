"""What an arm does to success: the mean difference to the base, paired by task and seed, with an interval that holds
for other seeds and for other tasks.

The seeds and the tasks are both samples. Resampling the seeds gives one variance of the mean difference, resampling the
tasks another; the chance of single episodes is in both, and is subtracted once (McCullagh 2000, "Resampling and
exchangeable arrays": no single way of resampling rows and columns gets the variance right). The variances of infinitely
many resamples are known in closed form, so nothing is drawn: with S seeds and T tasks

    V = (MS_seeds + MS_tasks - MS_rest) / (S T)

where MS are the mean squares of the two-way layout of differences. A mean square below that of the rest is raised to
it: no source of variance is negative.

With three seeds, quantiles of resampled means are too narrow: where the seeds differ most, resampling both covers the
truth in 86% of samples, and t intervals on V in 93% or more (`tests/study/test_effects.py` simulates both). Their
degrees of freedom are Satterthwaite's, but at most 2 (S - 1): three seeds that happen to agree would else make a study
too sure of itself, and one of three arms without an effect would be called better or worse in 11% of studies. The
intervals are wide with three seeds, because three seeds say little about other seeds: take more.

With m arms, each interval has the level 1 - 0.05 / m (Bonferroni), so that all of them hold in 95% of studies, and the
p-values are Holm's. Both are valid although all arms share the base.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from components.evaluation.comparison import exact_paired_p
from components.records import Record
from components.statistics import Interval, wilson

ALPHA = 0.05
NO_VARIANCE = 1e-12
"""Variances of means of scores are 0 or far larger; what is below is an error of rounding."""
MIN_COMMON = 0.8
"""Least share of a seed's tasks, judged or not, that all seeds must have in common for tasks to count as the same."""
MIN_JUDGED = 0.2
"""Least share of a seed's judged tasks that must be judged in every run for an effect to rest on these alone."""
METHOD = (
    "Differences are paired by task and seed. Intervals hold for other seeds and other tasks: the variance is that of "
    "resampled seeds plus that of resampled tasks minus that of single episodes, with Student's t quantiles for few "
    "seeds. Those of one column hold together for all arms (Bonferroni), and p-values are Holm's."
)

Scores = Mapping[str, float | None]
"""Success by task id, 0 to 1; None for an unjudged task."""


class Effect(Record):
    """The success of an arm minus that of the base, as a share of 1.

    `ci95` holds together with those of the other arms. `df` are the degrees of freedom of `se`; both are 0 if all
    differences are equal, and the interval is then as wide as unseen tasks allow. `left_out` counts tasks that are not
    judged in every run. `by_seed` has the mean difference of each seed. `same_tasks` is false if the seeds have
    different tasks, or few that are judged in every run; the interval is then over the seeds alone, which each bring
    tasks of their own.
    """

    diff: float
    ci95: Interval
    p_value: float
    p_holm: float
    se: float
    df: float
    seeds: list[int]
    by_seed: list[float]
    tasks: int
    left_out: int
    same_tasks: bool


class Spread(NamedTuple):
    """The variance of a mean difference, and its degrees of freedom."""

    variance: float
    df: float


def effects(scores: Mapping[str, Mapping[int, Scores]], base: str) -> dict[str, Effect | None]:
    """The effects of all arms; None for an arm that has fewer than two seeds in common with the base.

    Args:
        scores: by arm and seed, the success by task.
        base: the arm that the others are compared with.
    """
    arms = [arm for arm in scores if arm != base]
    level = 1 - ALPHA / max(1, len(arms))
    single = {arm: effect(scores[arm], scores[base], level) for arm in arms}
    adjusted = holm({arm: result.p_value for arm, result in single.items() if result is not None})
    return {
        arm: None if result is None else result.model_copy(update={"p_holm": adjusted[arm]})
        for arm, result in single.items()
    }


def effect(arm: Mapping[int, Scores], base: Mapping[int, Scores], level: float = 1 - ALPHA) -> Effect | None:
    """The effect of one arm with an interval of this level; None with fewer than two seeds in common, or no tasks."""
    differences = {seed: paired(arm[seed], base[seed]) for seed in sorted(arm.keys() & base.keys())}
    differences = {seed: by_task for seed, by_task in differences.items() if by_task}
    if len(differences) < 2:
        return None
    common = sorted(set.intersection(*(set(by_task) for by_task in differences.values())))
    attempted = {task for seed in differences for task in (*arm[seed], *base[seed])}
    of_both = [arm[seed].keys() & base[seed].keys() for seed in differences]
    are_same = len(set.intersection(*of_both)) >= MIN_COMMON * max(map(len, of_both))
    same_tasks = are_same and len(common) >= MIN_JUDGED * max(map(len, differences.values()))
    if same_tasks:
        diffs_ST = np.array([[by_task[task] for task in common] for by_task in differences.values()])
        means_S, tasks = diffs_ST.mean(axis=1), len(common)
        spread = crossed(diffs_ST)
    else:
        means_S = np.array([np.mean(list(by_task.values())) for by_task in differences.values()])
        tasks = len({task for by_task in differences.values() for task in by_task})
        spread = nested([np.array([*by_task.values()]) for by_task in differences.values()])
    diff = float(means_S.mean())
    if spread.variance > NO_VARIANCE:
        error = float(np.sqrt(spread.variance))
        half = float(stats.t.ppf((1 + level) / 2, spread.df)) * error
        interval = Interval(max(-1.0, diff - half), min(1.0, diff + half))
        p_value = float(2 * stats.t.sf(abs(diff) / error, spread.df))
    else:
        error, unseen = 0.0, wilson(0.0, tasks, level).high
        interval = Interval(diff - unseen * (diff + 1), diff + unseen * (1 - diff))
        p_value = exact_paired_p(np.full(tasks, diff))
    return Effect(
        diff=diff,
        ci95=interval,
        p_value=p_value,
        p_holm=p_value,
        se=error,
        df=spread.df if error else 0.0,
        seeds=[*differences],
        by_seed=[float(mean) for mean in means_S],
        tasks=tasks,
        left_out=len(attempted) - tasks,
        same_tasks=same_tasks,
    )


def paired(first: Scores, second: Scores) -> dict[str, float]:
    """By task that is judged on both sides, the success of the first minus that of the second."""
    both = ((task, score, second.get(task)) for task, score in first.items())
    return {task: score - other for task, score, other in both if score is not None and other is not None}


def crossed(diffs_ST: np.ndarray) -> Spread:
    """The variance of the mean of a table whose rows and columns are both samples; see the module's docstring.

    Shape: diffs_ST is (S, T), a row per seed and a column per task, at least two of each; with one task, the variance
    is over the seeds alone.
    """
    S, T = diffs_ST.shape
    mean = diffs_ST.mean()
    rows_S1 = diffs_ST.mean(axis=1, keepdims=True) - mean
    columns_1T = diffs_ST.mean(axis=0, keepdims=True) - mean
    by_seed = T * float((rows_S1**2).sum()) / (S - 1)
    if T == 1:
        return Spread(by_seed / S, S - 1)
    by_task = S * float((columns_1T**2).sum()) / (T - 1)
    df_rest = (S - 1) * (T - 1)
    rest = float(((diffs_ST - mean - rows_S1 - columns_1T) ** 2).sum()) / df_rest
    weight, terms = -1, []
    for square, df in ((by_seed, S - 1), (by_task, T - 1)):
        if square > rest:
            terms.append((square, df))
        else:  # `square` is raised to `rest`, so `rest` counts once more
            weight += 1
    terms.append((weight * rest, df_rest))
    total = sum(square for square, _ in terms)
    if total < NO_VARIANCE:
        return Spread(0.0, 0.0)
    df = total**2 / sum(square**2 / degrees for square, degrees in terms)
    return Spread(total / (S * T), min(max(df, S - 1.0), 2.0 * (S - 1)))


def nested(diffs: Sequence[np.ndarray]) -> Spread:
    """The variance of the mean of the seeds' means, if each seed has tasks of its own.

    The seeds' means vary at least as much as means over so many tasks do; if they happen to be closer, the variance is
    raised to that, as in `crossed`. The degrees of freedom stay those of the seeds.

    Shape: diffs has an array (T,) per seed, at least two.
    """
    S = len(diffs)
    between = float(np.var([diffs_T.mean() for diffs_T in diffs], ddof=1)) / S
    within = sum(float(diffs_T.var(ddof=1)) / diffs_T.size for diffs_T in diffs if diffs_T.size > 1) / S**2
    return Spread(max(between, within), S - 1)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down adjustment (1979): valid for any dependence, never larger than Bonferroni's."""
    adjusted, largest = {}, 0.0
    ordered: Sequence[str] = sorted(p_values, key=lambda name: p_values[name])
    for rank, name in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - rank) * p_values[name]))
        adjusted[name] = largest
    return adjusted
