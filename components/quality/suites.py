"""The expectations of each table.

A suite is a function of a table and related facts. It returns the table, with added columns that name the rows which
break a rule between tables, and the expectations. An expectation that a user's choice may break has a sentence for the
error, which says what to change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import pandas as pd

from components.records import AGENT_TERMINATIONS, TRAINED_ON, ErrorCause, Outcome, Split, Termination

if TYPE_CHECKING:
    from great_expectations.expectations import Expectation

SPLITS = get_args(Split)
FIX = "fix"
"""The key of an expectation's metadata with the sentence for the error."""
Suite = tuple[pd.DataFrame, "list[Expectation]"]


def tasks(frame: pd.DataFrame, max_rows: int | None = None, min_training: int = 0, may_overlap: bool = False) -> Suite:
    """Tasks of all splits in one table: usable rows, and no evaluation task among the training tasks.

    `max_rows` is the previous stage's number of tasks, for a stage that only drops tasks; `min_training` is the least
    number of training tasks, for a stage whose tasks are trained on. With `may_overlap` an evaluation task may be among
    the training tasks, for a stage before these are dropped.
    """
    import great_expectations.expectations as gxe

    is_training = frame["split"].isin(TRAINED_ON)
    training, evaluation = frame[is_training], frame[~is_training]
    overlap = evaluation["task_id"].where(_overlaps(evaluation, training))
    frame = frame.assign(also_trained_on=overlap.reindex(frame.index), training_tasks=is_training.astype(int))
    return frame, [
        gxe.ExpectTableRowCountToBeBetween(min_value=1, max_value=max_rows),
        *(
            [
                gxe.ExpectColumnSumToBeBetween(
                    column="training_tasks",
                    min_value=min_training,
                    meta=_fix("too few training tasks are left: name more in worlds or tasks.files, or loosen filters"),
                )
            ]
            if min_training
            else []
        ),
        *_ids("task_id"),
        *_filled("intent"),
        *_filled("start_url"),
        gxe.ExpectColumnValuesToNotBeNull(column="split"),
        gxe.ExpectColumnValuesToBeInSet(column="split", value_set=list(SPLITS)),
        *([] if may_overlap else [gxe.ExpectColumnValuesToBeNull(column="also_trained_on")]),
    ]


def trajectories(frame: pd.DataFrame, expected: int, max_aborted: float | None = None) -> Suite:
    """Rollouts: exactly `expected` episodes, each once, and no more than the share `max_aborted` ended by the
    environment. None: as many as there are, for a caller that has a rule of its own.
    """
    import great_expectations.expectations as gxe

    is_aborted = ~frame["termination"].isin(list(AGENT_TERMINATIONS))
    frame = frame.assign(aborted=is_aborted.astype(float))
    return frame, [
        gxe.ExpectTableRowCountToEqual(value=expected),
        *_ids("trajectory_id"),
        gxe.ExpectColumnValuesToNotBeNull(column="termination"),
        gxe.ExpectColumnValuesToBeInSet(
            column="termination", value_set=[termination.value for termination in Termination]
        ),
        gxe.ExpectColumnValuesToNotBeNull(column="turns"),
        gxe.ExpectColumnValuesToBeBetween(column="turns", min_value=0),
        *(
            [
                gxe.ExpectColumnMeanToBeBetween(
                    column="aborted",
                    max_value=max_aborted,
                    meta=_fix(
                        "the environment ended too many episodes, most often by "
                        f"{frame['termination'][is_aborted].mode()[0]}: fix the cause and run again, which tries these "
                        "episodes again, or raise quality.max_aborted"
                    ),
                )
            ]
            if max_aborted is not None and is_aborted.any()
            else []
        ),
    ]


def verdicts(
    frame: pd.DataFrame, trajectories: pd.DataFrame, min_positive: float, max_positive: float, max_unanswered: float
) -> Suite:
    """One verdict per trajectory, a share of successes (among successes and failures) within the limits, and no more
    than the share `max_unanswered` without an answer of the judge's endpoint, or with one that cannot be read.

    The latter is the share of the trajectories that a judge can decide: not of those that the environment ended, that
    no rule can judge, or that are failures whatever a judge says.
    """
    import great_expectations.expectations as gxe

    unknown_ids = frame["trajectory_id"].where(~frame["trajectory_id"].isin(trajectories["trajectory_id"]))
    unread = frame["outcome"] == Outcome.UNPARSED.value
    unanswered = unread | (frame["error_cause"] == ErrorCause.ENDPOINT.value)
    needs_judge = frame["trajectory_id"].isin(trajectories["trajectory_id"][trajectories["needs_judge"]])
    can_be_judged = needs_judge & (unanswered | (frame["outcome"] != Outcome.ERROR.value))
    frame = frame.assign(no_such_trajectory=unknown_ids, unanswered=unanswered.astype(float).where(can_be_judged))
    return frame, [
        gxe.ExpectTableRowCountToEqual(value=len(trajectories)),
        *_ids("trajectory_id"),
        gxe.ExpectColumnValuesToBeNull(column="no_such_trajectory"),
        gxe.ExpectColumnValuesToNotBeNull(column="outcome"),
        gxe.ExpectColumnValuesToBeInSet(column="outcome", value_set=[outcome.value for outcome in Outcome]),
        *(
            [
                gxe.ExpectColumnMeanToBeBetween(
                    column="unanswered",
                    max_value=max_unanswered,
                    meta=_fix(_no_verdicts(mostly_unread=unread.sum() * 2 > unanswered.sum())),
                )
            ]
            if can_be_judged.any()
            else []
        ),
        gxe.ExpectColumnMeanToBeBetween(
            column="positive",
            min_value=min_positive,
            max_value=max_positive,
            meta=_fix(_balance(frame["positive"].mean(), min_positive)),
        ),
    ]


def training(frame: pd.DataFrame, evaluation: pd.DataFrame, max_rows: int, learns_responses: bool = True) -> Suite:
    """Trajectories to train on. `evaluation` has the tasks of the evaluation pools, `max_rows` is the number of
    candidates.

    Each has a response if responses are learned. A judge learns verdicts, and a failure may have none: of an agent
    whose first prompt does not fit its context, or whose endpoint cut an empty response.
    """
    import great_expectations.expectations as gxe

    overlap = frame["task_id"].where(_overlaps(frame, evaluation))
    return frame.assign(evaluated_on=overlap), [
        gxe.ExpectTableRowCountToBeBetween(
            min_value=1,
            max_value=max_rows,
            meta=_fix("nothing is left to train on: use a better teacher or more tasks, or loosen the limits of curate")
            if frame.empty
            else None,
        ),
        *_ids("trajectory_id"),
        gxe.ExpectColumnValuesToNotBeNull(column="task_id"),
        gxe.ExpectColumnValuesToBeNull(
            column="evaluated_on",
            meta=_fix("the model is evaluated on these tasks: take them out of the files of curate.demonstrations"),
        ),
        gxe.ExpectColumnValuesToNotBeNull(column="response_characters"),
        gxe.ExpectColumnValuesToBeBetween(column="response_characters", min_value=int(learns_responses)),
    ]


def _fix(sentence: str) -> dict[str, str]:
    """The metadata of an expectation with the sentence that `gate` prints when it fails."""
    return {FIX: sentence}


def _no_verdicts(mostly_unread: bool) -> str:
    """What to do about too many trajectories without a verdict of success or failure."""
    if mostly_unread:
        return (
            "too few answers of the judge have a clear verdict: raise judge.model.max_answer_tokens if they are cut "
            "off, name another judge.model.endpoint or judge.model.protocol, or raise quality.max_unanswered"
        )
    return (
        "the judge's endpoint gave too few answers: run again when judge.model.endpoint answers, which asks about "
        "these trajectories alone, or raise quality.max_unanswered"
    )


def _balance(share: float, least: float) -> str:
    """What to do about a share of successes outside of its limits; NaN: nothing is a success or a failure."""
    if pd.isna(share):
        return "no trajectory is judged a success or a failure: check that judge.labels names a judge that can"
    if share < least:
        return "too few attempts succeed: ask a better teacher or train more in sft, or lower quality.min_positive"
    return (
        "too many attempts succeed, and a judge and RL learn from failures, too: raise teacher.noise of a scripted "
        "teacher or add harder tasks, or raise quality.max_positive"
    )


def _ids(column: str) -> list[Expectation]:
    import great_expectations.expectations as gxe

    return [gxe.ExpectColumnValuesToNotBeNull(column=column), gxe.ExpectColumnValuesToBeUnique(column=column)]


def _filled(column: str) -> list[Expectation]:
    import great_expectations.expectations as gxe

    return [
        gxe.ExpectColumnValuesToNotBeNull(column=column),
        gxe.ExpectColumnValuesToMatchRegex(column=column, regex=r"\S"),
    ]


def _overlaps(frame: pd.DataFrame, other: pd.DataFrame) -> pd.Series:
    """Rows of `frame` whose task is in `other`, by its id or by website and seed; without a seed only by its id."""
    pairs = set(zip(other["website"], other["seed"], strict=True))
    same_seed = [
        pd.notna(seed) and (website, seed) in pairs
        for website, seed in zip(frame["website"], frame["seed"], strict=True)
    ]
    return frame["task_id"].isin(other["task_id"].dropna()) | pd.Series(same_seed, index=frame.index, dtype=bool)
