"""How well a judge agrees with labels (OpenWebRL, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

from components.records import Outcome, Record


class Confusion(Record):
    """Counts; the first word is whether the judge was right, the second what it said. An unparsed verdict was wrong."""

    tp: int
    fp: int
    tn: int
    fn: int


class Agreement(Record):
    """Shares from 0 to 1 over `n` labelled trajectories.

    A verdict that is unparsed or an error counts as wrong, as a false negative on a success and as a false positive
    on a failure, so that a judge cannot gain by staying silent; `unparsed` says how many there were. A share of
    nothing is 0. `majority_accuracy` is that of always saying the more frequent label.
    """

    n: int
    accuracy: float
    precision: float
    recall: float
    f1: float
    majority_accuracy: float
    unparsed: int
    confusion: Confusion


def agreement(labels: Sequence[Outcome], said: Sequence[Outcome]) -> Agreement:
    """Agreement of what a judge `said` with `labels`, paired by position.

    Raises:
        ValueError: there is nothing to compare, the lengths differ, or a label is neither success nor failure.
    """
    if not labels or len(labels) != len(said):
        raise ValueError(
            f"{len(labels)} labels and {len(said)} verdicts: agreement needs one verdict per label, and at least one"
        )
    if not set(labels) <= {Outcome.SUCCESS, Outcome.FAILURE}:
        raise ValueError("labels must be success or failure: leave unparsed and error labels out of the held-out set")
    pairs = list(zip(labels, said, strict=True))
    positive = sum(label is Outcome.SUCCESS for label in labels)
    negative = len(labels) - positive
    tp = sum(label is verdict is Outcome.SUCCESS for label, verdict in pairs)
    tn = sum(label is verdict is Outcome.FAILURE for label, verdict in pairs)
    confusion = Confusion(tp=tp, fp=negative - tn, tn=tn, fn=positive - tp)
    precision, recall = _share(tp, tp + confusion.fp), _share(tp, positive)
    return Agreement(
        n=len(labels),
        accuracy=_share(tp + tn, len(labels)),
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        majority_accuracy=max(positive, negative) / len(labels),
        unparsed=sum(verdict not in (Outcome.SUCCESS, Outcome.FAILURE) for verdict in said),
        confusion=confusion,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
