"""How often a judge calls a failure a success. A reward with false positives trains the policy to cause them.

The rate is the share of the labelled failures with a readable verdict that the judge calls a success. Errors and
verdicts that cannot be read are left out, because RL masks such episodes. Intervals are those of
`statistics.clustered_share`, with tasks as clusters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from components.records import Outcome, Record, Verdict
from components.statistics import Estimate, clustered_share


class FalsePositives(Record):
    """A judge's false positives among `n` labelled failures of `tasks` tasks."""

    n: int
    tasks: int
    rate: Estimate


def false_positives(
    tasks: Sequence[str], labels: Sequence[Outcome], verdicts: Sequence[Verdict]
) -> FalsePositives | None:
    """The false positives of a judge; None without a readable verdict on a failure. The sequences are paired."""
    counts: dict[str, tuple[int, int]] = {}
    for task, label, verdict in zip(tasks, labels, verdicts, strict=True):
        if label is Outcome.FAILURE and verdict.outcome in (Outcome.SUCCESS, Outcome.FAILURE):
            wrong, n = counts.get(task, (0, 0))
            counts[task] = wrong + (verdict.outcome is Outcome.SUCCESS), n + 1
    if not counts:
        return None
    wrong_T, n_T = np.array(list(counts.values()), dtype=float).T
    return FalsePositives(n=int(n_T.sum()), tasks=len(counts), rate=clustered_share(wrong_T, n_T))


def by_kind(
    kinds: Sequence[str | None],
    tasks: Sequence[str],
    labels: Sequence[Outcome],
    verdicts: Sequence[Verdict],
) -> Mapping[str, FalsePositives]:
    """The false positives among the failures of each kind; None is the kind of a success. Sorted by number."""
    parts = {}
    for kind in sorted({kind for kind in kinds if kind is not None}):
        at = [index for index, other in enumerate(kinds) if other == kind]
        part = false_positives(
            [tasks[index] for index in at],
            [labels[index] for index in at],
            [verdicts[index] for index in at],
        )
        if part is not None:
            parts[kind] = part
    return dict(sorted(parts.items(), key=lambda item: -item[1].n))
