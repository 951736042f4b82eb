"""The figures of an iteration by hand, and the line that shows them."""

from __future__ import annotations

import pytest

from components.records import BranchPoint, Reward, Task, Termination, Trajectory, Turn
from components.rollout import Branches, Group, SampledGroups, SamplerState, TaskSampler
from components.training.health import branch_figures, health_line, rollout_figures
from tests.samples import a_task, a_trajectory, a_turn


def said(*logprobs: list[float]) -> list[Turn]:
    """Turns whose tokens have these log-probabilities."""
    return [a_turn(index, token_ids=list(range(len(one))), logprobs=one) for index, one in enumerate(logprobs)]


def attempt(number: int, task: Task, turns: list[Turn], ended: Termination = Termination.DONE) -> Trajectory:
    return a_trajectory(task, attempt=number, termination=ended).model_copy(update={"turns": turns})


def rewarded(trajectory: Trajectory, value: float, masked: bool = False, format_ok: bool = True) -> Reward:
    return Reward(trajectory_id=trajectory.trajectory_id, value=value, masked=masked, format_ok=format_ok)


def test_figures_of_a_rollout_are_those_worked_out_by_hand():
    first, second = a_task(0), a_task(1, website="other")
    sharp = [
        attempt(0, first, said([-0.5, -0.25, 0.0], [-1.0])),
        attempt(1, first, said([-2.0, -0.25])),
        attempt(2, first, said([-3.0]), Termination.FORMAT_ERROR),
    ]
    dull = [
        attempt(0, second, said([-0.5, -0.25, 0.0], [-1.0, -1.0, -1.0, -1.0]), Termination.BLOCKED),
        attempt(1, second, [], Termination.CONTEXT_LENGTH),
    ]
    sampled = SampledGroups(
        [
            Group(
                first, sharp, [rewarded(sharp[0], 1), rewarded(sharp[1], 1), rewarded(sharp[2], -1, format_ok=False)]
            ),
            Group(second, dull, [rewarded(dull[0], 0, masked=True), rewarded(dull[1], 0, format_ok=False)]),
        ]
    )
    pool = [first, second, a_task(2, website="other"), a_task(3, website="other"), a_task(4, website="never seen")]
    sampler = TaskSampler(pool, 0, state=SamplerState(rewards={first.website: 0.5, "other": 0.1}))
    assert rollout_figures(sampled, sampler) == pytest.approx(
        {
            "reward_mean": (1 + 1 - 1 + 0) / 4,
            "pool_reward": (0.5 + 3 * 0.1) / 4,
            "success_rate": 2 / 4,
            "overdone_share": 0,
            "effective_groups": 1,
            "sampled_groups": 2,
            "episodes": 5,
            "masked_share": 1 / 5,
            "masked_env_error": 0,
            "masked_env_init_error": 0,
            "masked_blocked": 1 / 5,
            "masked_sandbox_error": 0,
            "masked_harness_error": 0,
            "masked_task_timeout": 0,
            "masked_inference_timeout": 0,
            "masked_request_refused": 0,
            "masked_aborted": 0,
            "masked_judge": 0,
            "harness_errors": 0,
            "format_ok_share": 2 / 4,
            "entropy_estimate": (0.75 + 1 + 2.25 + 3 + 0.75 + 4) / 14,
            "turns_mean": (2 + 1 + 1 + 0) / 4,
            "response_tokens_mean": (3 + 1 + 2 + 1 + 3 + 4) / 6,
        }
    )


def test_rewards_and_successes_are_those_of_the_first_members():
    """Task 1 fails in 2 of 2 attempts, and then in 1 of 2 further ones; task 2 succeeds in 1 of 2."""

    def rewards(task: Task, *values: float) -> Group:
        attempts = [attempt(number, task, [a_turn(0)]) for number in range(len(values))]
        return Group(task, attempts, [rewarded(t, value) for t, value in zip(attempts, values, strict=True)])

    hard, easy = a_task(1), a_task(2)
    groups = [rewards(hard, 0, -1).joined(rewards(hard, 0, 1)), rewards(easy, 0, 1)]
    figures = rollout_figures(SampledGroups(groups), TaskSampler([hard, easy], 0))
    assert (figures["reward_mean"], figures["success_rate"]) == (0.0, 0.25)
    assert (figures["effective_groups"], figures["masked_share"]) == (2, 0)


def test_a_failing_environment_changes_neither_format_nor_turns():
    task, failure = a_task(0), Termination.SANDBOX_ERROR
    attempts = [attempt(number, task, [a_turn(0), a_turn(1)]) for number in range(2)]
    attempts += [attempt(2, task, [], failure), attempt(3, task, [a_turn(0)], failure)]
    rewards = [rewarded(t, 0, masked=t.termination is failure, format_ok=bool(t.turns)) for t in attempts]
    figures = rollout_figures(SampledGroups([Group(task, attempts, rewards)]), TaskSampler([task], 0))
    assert (figures["format_ok_share"], figures["turns_mean"]) == (1.0, 2.0)
    assert figures["masked_share"] == 0.5


def test_episodes_that_bugs_ended_are_counted_with_the_branches():
    task, bug = a_task(0), Termination.HARNESS_ERROR
    attempts = [attempt(0, task, [a_turn(0)], bug), attempt(1, task, [a_turn(0)]), attempt(2, task, [], bug)]
    rewards = [rewarded(t, 0, masked=t.termination is bug) for t in attempts]
    branches = Branches(1, 0, [attempt(3, task, [], bug)], [rewarded(attempts[2], 0, masked=True)])
    group = Group(task, attempts, rewards, branches=(branches,))
    figures = rollout_figures(SampledGroups([group]), TaskSampler([task], 0))
    assert (figures["harness_errors"], figures["masked_harness_error"]) == (3, pytest.approx(2 / 3))
    assert figures["episodes"] == 4


def test_the_figures_of_branches_are_those_worked_out_by_hand():
    task = a_task(0)
    attempts = [attempt(number, task, [a_turn(0), a_turn(1)]) for number in range(3)]
    point = BranchPoint(parent=attempts[0].trajectory_id, turn=1)
    dropped = point.model_copy(update={"difference": "turn 1 begins with another text"})
    branches = [
        attempt(number, task, []).model_copy(update={"branch_of": place})
        for number, place in enumerate([point, point, point, dropped], start=3)
    ]
    rewards = [rewarded(branches[0], 1), rewarded(branches[1], 0), *(rewarded(t, 0, masked=True) for t in branches[2:])]
    group = Group(task, attempts, [rewarded(t, 0) for t in attempts], branches=(Branches(0, 1, branches, rewards),))
    assert branch_figures(SampledGroups([group, Group(task, attempts, group.rewards)])) == {
        "branches_run": 4,
        "branches_dropped": 1,
        "branches_used": 2,
        "branches_reward": 0.5,
    }
    assert branch_figures(SampledGroups([]))["branches_reward"] == 0


FIGURES = {
    "iteration": 7.0,
    "reward_mean": 0.111,
    "pool_reward": 0.222,
    "effective_groups": 3.0,
    "sampled_groups": 44.0,
    "ratio_mean": 1.0555,
    "clip_fraction": 0.066,
    "logprob_gap_max": 7.7e-5,
    "entropy_estimate": 0.88,
    "grad_norm": 9.99,
    "turns_mean": 10.1,
    "response_tokens_mean": 111.0,
    "masked_share": 0.12,
    "masked_blocked": 0.13,
    "masked_env_error": 0.0,
    "masked_judge": 0.14,
    "tokens_per_s": 1500.0,
    "packed": 1.0,
    "packing_gap": 1.6e-6,
    "rollout_s": 17.0,
    "judge_s": 18.0,
    "train_s": 19.0,
    "waited_s": 20.0,
}


def test_the_health_line_has_each_figure_in_its_place():
    line = (
        "iteration 7: reward 0.111  pool 0.222  groups 3/44  ratio 1.0555  clipped 0.066  gap 7.7e-05  entropy 0.88"
        "  grad 9.99  turns 10.10  tokens 111  masked 0.12 (blocked 0.13, judge 0.14)  1500 tokens/s"
        "  packed (off 1.6e-06)  rollout 17 s  judge 18 s  train 19 s  waited 20 s"
    )
    assert health_line(FIGURES) == line
    branched = {"branches_run": 24.0, "branches_used": 21.0, "branches_dropped": 2.0}
    assert "  groups 3/44  branches 21/24 (dropped 2)  ratio 1.0555  " in health_line(FIGURES | branched)
    audited = {"judge_agreement": 0.21, "judge_audited": 22.0}
    assert health_line(FIGURES | audited) == line + "  judge agrees 0.21 of 22"
    precise = audited | {"judge_precision": 0.25}
    assert health_line(FIGURES | precise) == line + "  judge agrees 0.21 of 22, precision 0.25"


def test_the_health_line_gives_no_reasons_if_nothing_was_masked():
    unmasked = {"masked_share": 0.0, "masked_blocked": 0.0, "masked_judge": 0.0}
    assert "  masked 0.00  1500 tokens/s" in health_line(FIGURES | unmasked)


def test_the_health_line_leaves_out_what_was_not_measured():
    measured = {name: figures for name, figures in FIGURES.items() if name not in ("ratio_mean", "clip_fraction")}
    assert "  groups 3/44  gap 7.7e-05  entropy 0.88  grad 9.99  " in health_line(measured)
    idle = {name: figures for name, figures in measured.items() if name not in ("logprob_gap_max", "grad_norm")}
    assert "  groups 3/44  entropy 0.88  turns 10.10  " in health_line(idle)


def test_the_health_line_warns_that_a_run_does_not_pack():
    assert "  NOT PACKED (off 3.1e-02)  " in health_line(FIGURES | {"packed": 0.0, "packing_gap": 0.0312})
