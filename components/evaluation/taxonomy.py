"""Why an episode failed, coarsely, from its ending and its calls alone.

The kinds are disjoint and read from most to least certain: what the environment did is never the agent's failure, and
an ending says more than the calls before it. OpenWebRL's appendix E sorts 100 failures by hand into access and
environment (51%), reasoning (27%), grounding (13%) and task definition (9%); the last three need a reader or a judge
and are one kind here, `wrong`.
"""

from __future__ import annotations

import json
from enum import StrEnum

from components.judge import needs_judge
from components.records import Outcome, Termination, Trajectory, Turn

REPEATS = 3
"""Turns in a row with identical calls that make a loop."""


class FailureKind(StrEnum):
    """What went wrong, coarsely."""

    ENVIRONMENT = "environment"
    """The page, the browser or the machine ended the episode."""
    UNJUDGED = "unjudged"
    """The agent ended the episode, but the judge failed or its verdict was unreadable: no failure of the agent's."""
    FORMAT = "format"
    """Responses could not be parsed."""
    LENGTH = "length"
    """A response or the context outgrew its limit."""
    REPETITION = "repetition"
    """Out of steps after identical calls, turn after turn."""
    OUT_OF_STEPS = "out_of_steps"
    """Out of steps, still trying."""
    WRONG = "wrong"
    """The agent said it was done and was not."""


def failure_kind(trajectory: Trajectory, outcome: Outcome | None) -> FailureKind | None:
    """The kind of a trajectory's failure, or None for a success.

    A success is what the reward takes for one: `done` with an answer in a valid response, and the judge agreeing. The
    judge's `outcome` on any other ending is not looked at and may be None.
    """
    ending = trajectory.termination
    if needs_judge(trajectory):
        if outcome is Outcome.SUCCESS:
            return None
        return FailureKind.WRONG if outcome is Outcome.FAILURE else FailureKind.UNJUDGED
    if not ending.is_agents_doing:
        return FailureKind.ENVIRONMENT
    if ending is Termination.FORMAT_ERROR:
        return FailureKind.FORMAT
    if ending in (Termination.RESPONSE_LENGTH, Termination.CONTEXT_LENGTH):
        return FailureKind.LENGTH
    if ending is Termination.DONE:
        return FailureKind.WRONG
    if trajectory.turns and trajectory.turns[-1].parse_error is not None:
        return FailureKind.FORMAT
    return FailureKind.REPETITION if repeats(trajectory.turns) else FailureKind.OUT_OF_STEPS


def repeats(turns: list[Turn], times: int = REPEATS) -> bool:
    """True if `times` turns in a row made the same calls with the same arguments."""
    run, previous = 0, None
    for turn in turns:
        calls = json.dumps([[call.name, call.arguments] for call in turn.tool_calls], sort_keys=True, default=str)
        run = run + 1 if turn.tool_calls and calls == previous else 1
        if run >= times and turn.tool_calls:
            return True
        previous = calls
    return False
