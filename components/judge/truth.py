"""The truth about episodes in worlds with state, as labels for judges: what changed, and how an episode failed.

A world with state compares its data before and after an episode (`Trajectory.state_check`), so its verdict needs no
reader. A judge sees only the answer, the last screenshots and the actions; the kinds of failure say what it overlooks.
Only episodes that a judge would be asked about are labelled: those that ended with an answer (`needs_judge`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from components.judge.labels import CannotCompare
from components.records import Outcome, Record, RowChange, StateCheck, Trajectory
from components.success import needs_judge

STATE = "state"
"""In place of a file of labels: the truth."""
_REFUSES = re.compile(
    r"\b(can ?not|can't|could ?n[o'\N{RIGHT SINGLE QUOTATION MARK}]t|impossible|unable|not possible"
    r"|\w+n['\N{RIGHT SINGLE QUOTATION MARK}]t possible|n/?a)\b",
    re.I,
)


class Failure(StrEnum):
    """How an episode failed. The first kind that applies."""

    SIDE_EFFECTS_ONLY = "side_effects_only"
    """The task was done and the answer was right, but something else changed besides."""
    REFUSED_WRONGLY = "refused_wrongly"
    """Nothing changed, and the answer says that the task cannot be done, but it can."""
    NOT_REFUSED = "not_refused"
    """The task is impossible, and the answer does not say so with the right reason."""
    NOTHING_DONE = "nothing_done"
    """Nothing changed, but something had to."""
    WRONG_VALUE = "wrong_value"
    """A row was changed in a table in which the task asks for another change: a wrong value, or the wrong row."""
    PARTIAL = "partial"
    """Some of the expected effects are there, and others are missing."""
    WRONG_PLACE = "wrong_place"
    """Only rows of other tables changed."""
    WRONG_ANSWER = "wrong_answer"
    """All effects are there, but the answer is wrong."""


class Truth(Record):
    """What a world's state says of one trajectory. Both are None if its world has no state; `failure` also for a
    success."""

    outcome: Outcome | None = None
    failure: Failure | None = None


def read_truth(trajectories: Iterable[Trajectory]) -> dict[str, Outcome]:
    """Labels by trajectory id, of the episodes that ended with an answer and whose world knows the truth.

    Raises:
        CannotCompare: there are none.
    """
    labels = {
        trajectory.trajectory_id: outcome
        for trajectory in trajectories
        if needs_judge(trajectory) and (outcome := truth_of(trajectory).outcome) is not None
    }
    if not labels:
        raise CannotCompare(
            "no trajectory ended with an answer in a world with state: name a file of labels with --labels, or "
            "trajectories of such a world with --trajectories"
        )
    return labels


def truth_of(trajectory: Trajectory) -> Truth:
    """What the state says of a trajectory."""
    check = trajectory.state_check
    if check is None:
        return Truth()
    if check.reward == 1:
        return Truth(outcome=Outcome.SUCCESS)
    is_impossible = trajectory.task.evaluator.get("is_impossible") is True
    return Truth(outcome=Outcome.FAILURE, failure=failure_of(check, trajectory.answer or "", is_impossible))


def failure_of(check: StateCheck, answer: str, is_impossible: bool = False) -> Failure:
    """The kind of a failed episode.

    Args:
        answer: of `done`.
        is_impossible: whether the right answer to the task is a refusal.
    """
    if check.side_effects and not check.missing and check.answer_ok is not False:
        return Failure.SIDE_EFFECTS_ONLY
    if is_impossible:
        return Failure.NOT_REFUSED
    if not check.changes and _REFUSES.search(answer):
        return Failure.REFUSED_WRONGLY
    if not check.missing:
        return Failure.WRONG_ANSWER
    if not check.changes:
        return Failure.NOTHING_DONE
    if any(_names(text, change) for text in check.missing for change in _unasked(check)):
        return Failure.WRONG_VALUE
    return Failure.PARTIAL if check.credit > 0 else Failure.WRONG_PLACE


def _unasked(check: StateCheck) -> list[RowChange]:
    """The changes that are side effects: an expected effect with a wrong value is one of them."""
    return [change for change in check.changes if any(_names(text, change) for text in check.side_effects)]


def _names(text: str, change: RowChange) -> bool:
    """Whether a description of a change or of an effect names a change's table."""
    return re.search(rf"\b{re.escape(change.table)}\b", text) is not None
