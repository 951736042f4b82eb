"""How often a judge calls a failure a success. A reward with false positives trains the policy to cause them.

The rate is the share of the labelled failures that the judge calls a success. An unparsed verdict is none, because RL
masks it, and an error is left out. Intervals are percentile bootstraps over tasks, as in `calibration`; where all tasks
have the same rate, they are Wilson's over the number of tasks, because a bootstrap has no width there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from components.records import Outcome, Record, Verdict
from components.statistics import Estimate, Interval, wilson


class FalsePositives(Record):
    """A judge's false positives among `n` labelled failures of `tasks` tasks."""

    n: int
    tasks: int
    rate: Estimate


def false_positives(
    tasks: Sequence[str], labels: Sequence[Outcome], verdicts: Sequence[Verdict], bootstrap: int, seed: int
) -> FalsePositives | None:
    """The false positives of a judge; None if it gave no verdict on a failure. The sequences are paired by position."""
    counts: dict[str, tuple[int, int]] = {}
    for task, label, verdict in zip(tasks, labels, verdicts, strict=True):
        if label is Outcome.FAILURE and verdict.outcome is not Outcome.ERROR:
            wrong, n = counts.get(task, (0, 0))
            counts[task] = wrong + (verdict.outcome is Outcome.SUCCESS), n + 1
    if not counts:
        return None
    counts_T2 = np.array(list(counts.values()), dtype=float)
    wrong, n = counts_T2.sum(0)
    rates_T = counts_T2[:, 0] / counts_T2[:, 1]
    if np.ptp(rates_T) == 0:
        interval = wilson(wrong / n, len(counts))
    else:
        rng = np.random.default_rng(seed)
        resampled_B2 = rng.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=bootstrap) @ counts_T2
        low, high = np.percentile(resampled_B2[:, 0] / resampled_B2[:, 1], [2.5, 97.5])
        interval = Interval(float(low), float(high))
    return FalsePositives(n=int(n), tasks=len(counts), rate=Estimate(value=float(wrong / n), ci95=interval))


def by_kind(
    kinds: Sequence[str | None],
    tasks: Sequence[str],
    labels: Sequence[Outcome],
    verdicts: Sequence[Verdict],
    bootstrap: int,
    seed: int,
) -> Mapping[str, FalsePositives]:
    """The false positives among the failures of each kind; None is the kind of a success. Sorted by number."""
    parts = {}
    for kind in sorted({kind for kind in kinds if kind is not None}):
        at = [index for index, other in enumerate(kinds) if other == kind]
        part = false_positives(
            [tasks[index] for index in at],
            [labels[index] for index in at],
            [verdicts[index] for index in at],
            bootstrap,
            seed,
        )
        if part is not None:
            parts[kind] = part
    return dict(sorted(parts.items(), key=lambda item: -item[1].n))
