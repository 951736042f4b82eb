"""Test-time scaling: success at several step budgets, all computed from one rollout at the largest budget.

No prompt contains the number of steps (`agent.Renderer` does not have it), and a turn's random draws depend only on the
episode's seed and the turn's number. So an episode under a smaller budget is the beginning of the same episode: one
that ended within the budget ends in the same way, and any other runs out of steps.

Accepted trade-offs: live pages differ between two visits, so points of one curve are more alike than separate runs
would be, which helps their comparison. A longer episode has a longer wall-clock limit, so at the smaller budgets fewer
episodes reach that limit than in separate runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.evaluation.errors import EvaluationError
from components.evaluation.metrics import success
from components.records import Termination, Trajectory, Verdict
from components.statistics import SuccessRate

_ENDED_BY_A_TURN = frozenset(
    {Termination.DONE, Termination.MAX_STEPS, Termination.RESPONSE_LENGTH, Termination.FORMAT_ERROR}
)

_OF_THE_WHOLE = ("bills", "response_tokens", "usd", "wall_s")
"""Diagnostics of a whole episode."""


class BudgetPoint(SuccessRate):
    """One point of the curve. `finished` is the share of episodes in which the agent called `done`."""

    steps: int
    rate_without_aborted: float | None
    aborted: int
    finished: float
    turns_mean: float
    response_tokens_mean: float


def within(trajectory: Trajectory, steps: int) -> Trajectory:
    """The episode as it would be under a budget of `steps` steps.

    An ending that no turn caused (a timeout, a dead page) happened in the turn after the last recorded one, unless the
    last one had already called `done`.
    """
    turns = trajectory.turns
    ended_by_turn = trajectory.termination in _ENDED_BY_A_TURN or (
        bool(turns) and any(call.name == "done" for call in turns[-1].tool_calls)
    )
    if len(turns) < steps or (ended_by_turn and len(turns) == steps):
        return trajectory
    return trajectory.model_copy(
        update={
            "turns": turns[:steps],
            "termination": Termination.MAX_STEPS,
            "answer": None,
            "site_reward": None,
            "late_actions": None,
            "ending": None,
            "state_check": None,
            "diagnostics": _of_first_turns(trajectory.diagnostics, steps),
            "final_screenshot": turns[steps].observation.screenshot
            if len(turns) > steps
            else trajectory.final_screenshot,
        }
    )


def _of_first_turns(diagnostics: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """The diagnostics of an episode that ended after its first steps. Its time is not known, nor are tokens and cost if
    no turn has a bill."""
    kept = {key: value for key, value in diagnostics.items() if key not in _OF_THE_WHOLE}
    if not (bills := diagnostics.get("bills", [])[:steps]):
        return kept
    tokens, usd = ([bill[key] for bill in bills if bill[key] is not None] for key in ("tokens", "usd"))
    summed = {"response_tokens": sum(tokens) if tokens else None, "usd": round(sum(usd), 8) if usd else None}
    return {**kept, "bills": bills, **{key: value for key, value in summed.items() if value is not None}}


def budget_curve(
    trajectories: Sequence[Trajectory],
    verdicts: Sequence[Verdict],
    budgets: Sequence[int],
    max_aborted: float,
) -> list[BudgetPoint]:
    """The success at each budget, smallest first, of episodes that ran with the largest budget or more.

    A budget under which no episode has a verdict, or the measurement is invalid, has no point.
    """
    points = []
    for steps in sorted(set(budgets)):
        cut = [within(trajectory, steps) for trajectory in trajectories]
        try:
            summary = success(cut, verdicts, max_aborted)
        except EvaluationError:
            continue
        if not summary.valid:
            continue
        points.append(
            BudgetPoint(
                steps=steps,
                rate=summary.rate,
                ci95=summary.ci95,
                n=summary.n,
                rate_without_aborted=summary.rate_without_aborted,
                aborted=summary.aborted,
                finished=sum(trajectory.termination is Termination.DONE for trajectory in cut) / len(cut),
                turns_mean=summary.turns_mean,
                response_tokens_mean=summary.response_tokens_mean,
            )
        )
    return points
