"""Families of test tasks that RL made worse in single runs. A mean over seeds hides them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from components.evaluation import exact_paired_p
from components.records import Record
from components.study.effects import holm, paired
from components.study.results import Measured

LEAST_FALL = 0.05
"""Smaller falls are not listed, as a share of 1."""


class Fall(Record):
    """A family in which a run succeeds less after RL than before it, as shares of 1, on `tasks` tasks.

    `p_value` is that of the exact paired test, corrected by Holm's method for all families of all runs of the study.
    """

    run: str
    family: str
    before: float
    after: float
    tasks: int
    p_value: float


def falls(measured: Sequence[Measured]) -> list[Fall]:
    """The falls of at least `LEAST_FALL`, the largest first. Tasks that are unjudged on either side are left out."""
    by_name: dict[str, Fall] = {}
    for measurement in measured:
        diffs = paired(measurement.tested, measurement.before)
        families: dict[str, list[str]] = {}
        for task in diffs:
            families.setdefault(measurement.family_of[task], []).append(task)
        for family, tasks in families.items():
            by_name[f"{measurement.run.name}:{family}"] = Fall(
                run=measurement.run.name,
                family=family,
                before=fmean(measurement.before[task] or 0.0 for task in tasks),
                after=fmean(measurement.tested[task] or 0.0 for task in tasks),
                tasks=len(tasks),
                p_value=exact_paired_p(np.array([diffs[task] for task in tasks])),
            )
    p_values = holm({name: fall.p_value for name, fall in by_name.items()})
    listed = [
        fall.model_copy(update={"p_value": p_values[name]})
        for name, fall in by_name.items()
        if round(fall.before - fall.after, 9) >= LEAST_FALL
    ]
    return sorted(listed, key=lambda fall: (fall.after - fall.before, fall.run, fall.family))
