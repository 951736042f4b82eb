"""The reward of a trajectory (OpenWebRL, appendix A.4): by the ending first, by the judge only where the ending allows.

The reward is +1 if the format is valid, the judge says success and nothing was done on a page after the page's own
ending; -1, or the recipe's value, if repeated format errors
ended the episode (WebAgent-R1, section 2.2, and WebGym score 0); 0 otherwise. A trajectory is masked, and never scored
0, if the environment ended the episode, or if the judge failed or its verdict is unreadable.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from components.browser import acts
from components.records import Outcome, Reward, Termination, Trajectory, Verdict
from components.success import needs_judge

MIN_SUCCESS = 0.1
"""The reward of a success whose actions cost more."""
JudgeFn = Callable[[list[Trajectory]], Awaitable[list[Verdict]]]
"""Judges trajectories; it is called only with those that need a judge."""


def reward(
    trajectory: Trajectory, verdict: Verdict | None, format_error: float = -1.0, action_cost: float = 0.0
) -> Reward:
    """The reward of one trajectory.

    Args:
        verdict: the judge's; ignored, and may be None, where `needs_judge` is false.
        format_error: the reward of an episode that repeated format errors ended.
        action_cost: subtracted from a success for each action, down to `MIN_SUCCESS`.

    Raises:
        ValueError: the verdict is missing, or is on another trajectory.
    """
    if verdict is not None and verdict.trajectory_id != trajectory.trajectory_id:
        raise ValueError(
            f"the verdict is on {verdict.trajectory_id}, the trajectory is {trajectory.trajectory_id}: join them by id"
        )
    if needs_judge(trajectory) and verdict is None:
        raise ValueError(f"trajectory {trajectory.trajectory_id} ended with an answer: ask a judge before rewarding it")
    value, masked = _score(trajectory, verdict.outcome if verdict else None, format_error)
    if value > 0 and action_cost:
        actions = sum(acts(call) for turn in trajectory.turns for call in turn.tool_calls)
        value = max(MIN_SUCCESS, value - action_cost * actions)
    return Reward(
        trajectory_id=trajectory.trajectory_id,
        value=value,
        masked=masked,
        format_ok=trajectory.format_ok,
        outcome=verdict.outcome if verdict else None,
    )


def _score(trajectory: Trajectory, outcome: Outcome | None, format_error: float) -> tuple[float, bool]:
    """Value, and whether it is masked."""
    if not trajectory.termination.is_agents_doing:
        return 0.0, True
    if trajectory.termination is Termination.FORMAT_ERROR:
        return format_error, False
    if not needs_judge(trajectory):
        return 0.0, False
    if outcome in (Outcome.ERROR, Outcome.UNPARSED):
        return 0.0, True
    return float(outcome is Outcome.SUCCESS), False
