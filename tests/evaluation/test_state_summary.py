"""Side effects, partial credit and detours over the episodes of worlds with state."""

from __future__ import annotations

import pytest

from components.evaluation import success
from components.evaluation.state_summary import StateFigures, summarise_state
from components.records import Outcome, StateCheck, Termination, ToolCall
from tests.samples import a_task, a_trajectory, a_turn, a_verdict


def episode(number: int, reward: float, credit: float, side_effects: list[str], calls: list[str]):
    task = a_task(number, evaluator={"type": "site_reward", "reference_length": 2, "variant": "popup"})
    turns = [a_turn(index, tool_calls=[ToolCall(name=name)], feedback=["Succeed"]) for index, name in enumerate(calls)]
    check = StateCheck(reward=reward, credit=credit, side_effects=side_effects)
    whole = a_trajectory(task, termination=Termination.DONE, site_reward=reward, state_check=check)
    return whole.model_copy(update={"turns": turns})


def test_the_summary_counts_side_effects_and_detours_of_successes():
    trajectories = [
        episode(1, 1.0, 1.0, [], ["click", "scroll", "click", "write", "done"]),
        episode(2, 0.0, 0.5, ["also added 1 row"], ["click", "done"]),
    ]
    verdicts = [a_verdict(part, Outcome.SUCCESS if part.site_reward else Outcome.FAILURE) for part in trajectories]
    summary = success(trajectories, verdicts)
    assert summary.state is not None
    assert (summary.state.n, summary.state.side_effect_rate, summary.state.credit_mean) == (2, 0.5, 0.75)
    assert summary.state.detour == pytest.approx(3 / 2)
    assert [(part.value, part.n) for part in summary.slices("variant")] == [("popup", 2)]


def test_worlds_without_state_have_no_summary():
    assert summarise_state([]) is None
    summary = summarise_state([(StateFigures(credit=0.0, side_effects=0, actions=4, oracle_actions=None), True)])
    assert summary is not None
    assert summary.detour is None
