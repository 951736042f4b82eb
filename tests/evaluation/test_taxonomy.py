"""Every failure has one coarse kind, and only the agent's own count as the agent's."""

from __future__ import annotations

import pytest

from components.evaluation import FailureKind, failure_kind
from components.records import Outcome, Termination, ToolCall
from tests.evaluation.making import trajectory, turn

CLICKS = [ToolCall(name="click", arguments={"x": x, "y": 500}) for x in (100, 200, 300)]


@pytest.mark.parametrize(
    ("termination", "kind"),
    [
        (Termination.FORMAT_ERROR, FailureKind.FORMAT),
        (Termination.RESPONSE_LENGTH, FailureKind.LENGTH),
        (Termination.CONTEXT_LENGTH, FailureKind.LENGTH),
        (Termination.MAX_STEPS, FailureKind.OUT_OF_STEPS),
        *[(ending, FailureKind.ENVIRONMENT) for ending in Termination if not ending.is_agents_doing],
    ],
)
def test_an_ending_names_the_kind(termination, kind):
    assert failure_kind(trajectory(termination=termination), None) is kind


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Outcome.SUCCESS, None),
        (Outcome.FAILURE, FailureKind.WRONG),
        (Outcome.ERROR, FailureKind.UNJUDGED),
        (Outcome.UNPARSED, FailureKind.UNJUDGED),
    ],
)
def test_a_finished_episode_is_what_the_judge_says(outcome, kind):
    assert failure_kind(trajectory(), outcome) is kind


def test_an_aborted_episode_is_never_a_success_whatever_the_judge_says():
    assert failure_kind(trajectory(termination=Termination.TASK_TIMEOUT), Outcome.SUCCESS) is FailureKind.ENVIRONMENT


def test_three_identical_turns_are_a_loop():
    stuck = [turn(0, CLICKS[0]), *[turn(index, CLICKS[1]) for index in (1, 2, 3)]]
    assert failure_kind(trajectory(turns=stuck, termination=Termination.MAX_STEPS), None) is FailureKind.REPETITION


def test_two_identical_turns_are_no_loop():
    trying = [turn(0, CLICKS[0]), turn(1, CLICKS[0]), turn(2, CLICKS[1]), turn(3, CLICKS[0])]
    assert failure_kind(trajectory(turns=trying, termination=Termination.MAX_STEPS), None) is FailureKind.OUT_OF_STEPS


def test_out_of_steps_in_unreadable_words_is_a_failure_of_format():
    last = turn(1, tool_calls=[], feedback=[], response="I click", parse_error="no closing </think> tag")
    assert (
        failure_kind(trajectory(turns=[turn(0), last], termination=Termination.MAX_STEPS), None) is FailureKind.FORMAT
    )
