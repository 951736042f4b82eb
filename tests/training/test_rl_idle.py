"""Iterations that find nothing to learn from: some are borne, some end the run with the reason."""

from __future__ import annotations

import pytest

from components.records import Reward, Termination
from components.rollout import Group, NothingLearnable, Sampled
from components.training.health import health_line, masked_shares
from components.training.rl import IDLE_ITERATIONS, _bear_with
from tests.samples import a_task, a_trajectory


def sampled(*values: float, masked: bool = False) -> Sampled:
    trajectories = [a_trajectory(attempt=attempt) for attempt in range(len(values))]
    rewards = [
        Reward(trajectory_id=t.trajectory_id, value=value, masked=masked, format_ok=True)
        for t, value in zip(trajectories, values, strict=True)
    ]
    return Sampled([Group(a_task(), trajectories, rewards)])


IDLE = [0] * (IDLE_ITERATIONS - 1)


def history(*effective: int) -> list[dict[str, float]]:
    return [{"effective_groups": float(count)} for count in effective]


@pytest.mark.parametrize("before", [history(), history(5), history(0), history(0, 0, 5), history(0, 5, 0)])
def test_one_iteration_without_a_success_is_borne(before):
    assert _bear_with(sampled(0, 0), before, began=True) is None


def test_too_many_in_a_row_end_the_phase_and_keep_what_was_learned():
    ended = _bear_with(sampled(0, 0), history(5, *IDLE), began=True)
    assert "no trajectory succeeds" in ended


def test_where_nothing_was_ever_learned_the_run_ends_with_the_reason():
    with pytest.raises(NothingLearnable, match="no trajectory succeeds"):
        _bear_with(sampled(0, 0), history(*IDLE), began=True)
    assert _bear_with(sampled(0, 0), history(*IDLE), began=False), "the phase before has learned something"


def test_a_policy_that_masters_its_tasks_ends_no_run():
    assert _bear_with(sampled(1, 1), history(*[0] * 20), began=True) is None


def test_where_everything_is_masked_the_run_ends_at_once():
    with pytest.raises(NothingLearnable, match="masked"):
        _bear_with(sampled(0, 0, masked=True), history(5), began=True)


def test_what_was_masked_is_counted_by_its_reason():
    one, two = sampled(0, 0, masked=True), sampled(1, 0)
    (group,) = one.groups
    blocked = group.trajectories[0].model_copy(update={"termination": Termination.BLOCKED})
    shares = masked_shares(Sampled([Group(group.task, [blocked, group.trajectories[1]], group.rewards), *two.groups]))
    assert {name: share for name, share in shares.items() if share} == {"masked_blocked": 0.25, "masked_judge": 0.25}
    assert set(shares) > {"masked_env_error", "masked_sandbox_error", "masked_inference_timeout"}


def test_the_health_line_says_why_members_were_masked():
    names = (
        "iteration reward_mean pool_reward effective_groups sampled_groups ratio_mean clip_fraction logprob_gap_max "
        "entropy_estimate grad_norm turns_mean response_tokens_mean masked_share tokens_per_s rollout_s judge_s "
        "train_s waited_s packed packing_gap masked_blocked masked_env_error"
    )
    figures = dict.fromkeys(names.split(), 0.0) | {"iteration": 7.0, "masked_share": 0.25, "masked_blocked": 0.25}
    line = health_line(figures)
    assert line.startswith("iteration 7: reward 0.000")
    assert "masked 0.25 (blocked 0.25)  0 tokens/s" in line
    assert "masked 0.00  0 tokens/s" in health_line(figures | {"masked_share": 0.0, "masked_blocked": 0.0})
