"""Calibration of one judge: its agreement with labels, each figure with a 95% interval.

Attempts at one task are not independent, so intervals are of tasks: those of `statistics.clustered_share` for accuracy,
precision, recall and F1, and the percentile bootstrap for kappa, which is no share. Where no resample changes kappa,
its interval is what it would be at the ends of the interval of accuracy. An unparsed verdict counts as wrong (see
`agreement`). A verdict of error, where the judge could not be asked, says nothing about the judge: it is left out and
counted in `outages`. A figure that the labels and verdicts cannot tell, such as the recall of no successes, is None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from pydantic import Field

from components.judge.agreement import agreement
from components.judge.false_positives import FalsePositives, false_positives
from components.records import Outcome, Record, Verdict
from components.statistics import Estimate, Interval, clustered_share

METRICS = ("accuracy", "precision", "recall", "f1", "kappa")
_LABELS = (Outcome.SUCCESS, Outcome.FAILURE)
OUTCOMES = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED)
"""Verdicts that count; an error is an outage."""


class Calibration(Record):
    """One judge on `n` labelled trajectories of `tasks` tasks.

    `said_by_label` counts verdicts by label and outcome, such as `said_by_label["success"]["unparsed"]`. Cohen's kappa
    is the agreement beyond chance, given how often judge and labels say success: 0 for chance, 1 for full agreement.
    In every figure an unparsed verdict counts as the opposite of the label.
    """

    judge: str
    n: int
    tasks: int
    accuracy: Estimate
    precision: Estimate | None
    """None if the judge called nothing a success."""
    recall: Estimate | None
    """None if no label is a success."""
    f1: Estimate | None
    """None if neither is."""
    kappa: Estimate | None
    """None if labels and judge have one and the same outcome alone."""
    majority_accuracy: float
    said_by_label: dict[str, dict[str, int]]
    unparsed: int
    outages: int
    cost_usd: float = 0.0
    latency_s: float = 0.0
    """Mean seconds per verdict."""
    false_positives: FalsePositives | None = None
    """Among all labelled failures; None if the judge gave no verdict on one."""
    false_positives_by_kind: dict[str, FalsePositives] = Field(default_factory=dict)
    """By the kind of failure, of trajectories whose world knows it (`truth`)."""

    @property
    def estimates(self) -> dict[str, Estimate | None]:
        """The estimates by their names in `METRICS`; None for what these labels cannot tell."""
        return dict(zip(METRICS, (self.accuracy, self.precision, self.recall, self.f1, self.kappa), strict=True))


class NothingToCompare(ValueError):
    """No labelled trajectory has a verdict."""


def calibrate(
    judge: str, tasks: Sequence[str], labels: Sequence[Outcome], verdicts: Sequence[Verdict], bootstrap: int, seed: int
) -> Calibration:
    """Compare a judge's verdicts with labels; the three sequences are paired by position.

    Args:
        tasks: the task of each trajectory, whose attempts are resampled together.
        labels: success or failure.
        bootstrap: resamples.

    Raises:
        NothingToCompare: all verdicts are errors, or there are no labels.
    """
    cases = [
        (task, label, verdict)
        for task, label, verdict in zip(tasks, labels, verdicts, strict=True)
        if verdict.outcome is not Outcome.ERROR
    ]
    if not cases:
        raise NothingToCompare(
            f"{judge} gave no verdict on any of {len(labels)} labelled trajectories: "
            f"{verdicts[0].rationale if verdicts else 'label some first'}"
        )
    outcomes = [verdict.outcome for _, _, verdict in cases]
    labelled = [label for _, label, _ in cases]
    overall = agreement(labelled, outcomes)
    counts = Counter(zip(labelled, outcomes, strict=True))
    by_task_T4 = _counts_by_task(cases)
    tp_T, fp_T, tn_T, fn_T = by_task_T4.T
    accuracy = clustered_share(tp_T + tn_T, by_task_T4.sum(1))
    kappas_B = _kappa(_resampled(by_task_T4, bootstrap, seed))
    kappa = float(_kappa(by_task_T4.sum(0, keepdims=True))[0])
    return Calibration(
        judge=judge,
        n=len(cases),
        tasks=len(by_task_T4),
        accuracy=accuracy,
        precision=_share(tp_T, tp_T + fp_T),
        recall=_share(tp_T, tp_T + fn_T),
        f1=_share(2 * tp_T, 2 * tp_T + fp_T + fn_T),
        kappa=None if np.isnan(kappa) else Estimate(value=kappa, ci95=_kappa_interval(kappas_B, kappa, accuracy)),
        majority_accuracy=overall.majority_accuracy,
        said_by_label={
            label.value: {outcome.value: counts[label, outcome] for outcome in OUTCOMES} for label in _LABELS
        },
        unparsed=overall.unparsed,
        outages=len(labels) - len(cases),
        cost_usd=sum(verdict.cost_usd for verdict in verdicts),
        latency_s=sum(verdict.latency_s for verdict in verdicts) / len(verdicts),
        false_positives=false_positives(tasks, labels, verdicts),
    )


def _counts_by_task(cases: Sequence[tuple[str, Outcome, Verdict]]) -> np.ndarray:
    """Counts of tp, fp, tn and fn per task. Shape: (tasks, 4)."""
    tasks = sorted({task for task, _, _ in cases})
    row = {task: number for number, task in enumerate(tasks)}
    counts_T4 = np.zeros((len(tasks), 4))
    for task, label, verdict in cases:
        right = verdict.outcome is label
        column = (0 if right else 3) if label is Outcome.SUCCESS else (2 if right else 1)
        counts_T4[row[task], column] += 1
    return counts_T4


def _resampled(by_task_T4: np.ndarray, bootstrap: int, seed: int) -> np.ndarray:
    """Counts of resampled sets of tasks. Shape: (bootstrap, 4)."""
    rng, tasks = np.random.default_rng(seed), len(by_task_T4)
    parts = []
    for begin in range(0, bootstrap, 1000):  # bounds the memory to some megabytes
        weights_BT = rng.multinomial(tasks, np.full(tasks, 1 / tasks), size=min(1000, bootstrap - begin))
        parts.append(weights_BT @ by_task_T4)
    return np.concatenate(parts)


def _share(part_T: np.ndarray, whole_T: np.ndarray) -> Estimate | None:
    return clustered_share(part_T, whole_T) if whole_T.any() else None


def _kappa(counts_B4: np.ndarray) -> np.ndarray:
    """Cohen's kappa of each row of counts; NaN where judge and labels have one outcome alone. Shape: (rows,)."""
    tp, fp, tn, fn = counts_B4.T
    n = tp + fp + tn + fn
    observed = (tp + tn) / n
    expected = ((tp + fp) * (tp + fn) + (tn + fn) * (tn + fp)) / n**2
    return np.divide(observed - expected, 1 - expected, out=np.full_like(n, np.nan), where=expected != 1)


def _kappa_interval(kappas_B: np.ndarray, kappa: float, accuracy: Estimate) -> Interval:
    """The percentile interval of the resamples in which kappa is defined; its whole range if it never is."""
    defined_B = kappas_B[~np.isnan(kappas_B)]
    if not len(defined_B):
        return Interval(-1.0, 1.0)
    if np.ptp(defined_B) > 0:
        return Interval(*(float(end) for end in np.percentile(defined_B, [2.5, 97.5])))
    expected = (accuracy.value - kappa) / (1 - kappa) if kappa < 1 else 0.5
    low, high = ((end - expected) / (1 - expected) for end in accuracy.ci95)
    return Interval(max(-1.0, min(low, kappa)), min(1.0, max(high, kappa)))
