"""Agreement of a judge with labels, without intervals (OpenWebRL, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

from components.records import Outcome, Record


class Confusion(Record):
    """Counts of true and false, positive and negative verdicts; a success is positive. An unparsed verdict is false."""

    tp: int
    fp: int
    tn: int
    fn: int


class Agreement(Record):
    """Shares from 0 to 1 over `n` labelled trajectories.

    A verdict that is unparsed or an error counts as wrong: as a false negative on a success and as a false positive on
    a failure. So a judge cannot gain by unreadable answers; `unparsed` counts them. A share of 0 trajectories is 0.
    `majority_accuracy` is the accuracy of a judge that always gives the more frequent label.
    """

    n: int
    accuracy: float
    precision: float
    recall: float
    f1: float
    majority_accuracy: float
    unparsed: int
    confusion: Confusion


def agreement(labels: Sequence[Outcome], verdicts: Sequence[Outcome]) -> Agreement:
    """Agreement of a judge's verdicts with labels, paired by position.

    Raises:
        ValueError: there are no labels, the lengths differ, or a label is neither success nor failure.
    """
    if not labels or len(labels) != len(verdicts):
        raise ValueError(
            f"{len(labels)} labels and {len(verdicts)} verdicts: agreement needs one verdict per label, "
            "and at least one"
        )
    if not set(labels) <= {Outcome.SUCCESS, Outcome.FAILURE}:
        raise ValueError("labels must be success or failure: leave unparsed and error labels out of the held-out set")
    pairs = list(zip(labels, verdicts, strict=True))
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
        unparsed=sum(verdict not in (Outcome.SUCCESS, Outcome.FAILURE) for verdict in verdicts),
        confusion=confusion,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
