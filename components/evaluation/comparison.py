"""Whether one policy, or one judge, beats another: a paired bootstrap over the tasks that both attempted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from components.evaluation.errors import EvaluationError
from components.records import Record
from components.statistics import Interval, bootstrap_mean


class Difference(Record):
    """Difference of two success rates, first minus second."""

    diff: float
    ci95: Interval


class PairedDifference(Difference):
    """The difference on `n` tasks that both sides attempted."""

    n: int


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
    return PairedDifference(diff=float(diffs_N.mean()), ci95=bootstrap_mean(diffs_N, bootstrap, seed), n=len(pairs))


def beats(difference: Difference) -> bool:
    """True if the whole interval is above 0: the rule by which a candidate becomes the champion."""
    return difference.ci95.low > 0


def first_names(names: Sequence[str], limit: int = 5) -> str:
    """The first names, separated by commas, and how many more there are."""
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
