"""What the episodes of an evaluation changed in worlds with state: side effects, partial credit, detours.

These figures explain a success rate; none of them is one. An episode with a side effect has failed already.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from components.browser import acts
from components.records import Record, Trajectory


class StateFigures(Record):
    """One episode's part.

    `credit` is the share of the expected effects that were there. `actions` are the agent's turns that do more than
    scroll, wait and say `done`; `oracle_actions` are those of the task's oracle, None where the task does not say.
    """

    credit: float
    side_effects: int
    actions: int
    oracle_actions: int | None


class StateSummary(Record):
    """Means over `n` episodes of worlds with state.

    `detour` is the mean ratio of the agent's actions to the oracle's, over the successful episodes; None if there are
    none.
    """

    n: int
    side_effect_rate: float
    credit_mean: float
    detour: float | None = None


def state_figures(trajectory: Trajectory) -> StateFigures | None:
    """The figures of one episode; None if its world has no state, or the environment ended it."""
    check = trajectory.state_check
    if check is None:
        return None
    length = trajectory.task.evaluator.get("reference_length")
    acting = [turn for turn in trajectory.turns if any(map(acts, turn.tool_calls))]
    return StateFigures(
        credit=check.credit,
        side_effects=len(check.side_effects),
        actions=len(acting),
        oracle_actions=length if isinstance(length, int) and length > 0 else None,
    )


def summarise_state(figures: Sequence[tuple[StateFigures, bool]]) -> StateSummary | None:
    """The summary of episodes with their success; None without any."""
    if not figures:
        return None
    detours = [
        episode.actions / episode.oracle_actions
        for episode, success in figures
        if success and episode.oracle_actions is not None
    ]
    return StateSummary(
        n=len(figures),
        side_effect_rate=float(np.mean([episode.side_effects > 0 for episode, _ in figures])),
        credit_mean=float(np.mean([episode.credit for episode, _ in figures])),
        detour=float(np.mean(detours)) if detours else None,
    )
