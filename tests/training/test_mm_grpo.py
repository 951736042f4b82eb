"""The objective, by hand (OpenWebRL, section 4.4)."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from components.params import MMGRPOParams
from components.records import Outcome, Reward, Task
from components.rollout import Group
from components.training.objectives.m_grpo import MGRPO
from components.training.objectives.mm_grpo import MMGRPO
from components.training.objectives.surrogate import TurnTokens, advantage_std, group_advantages
from tests.samples import a_trajectory

TASK = Task(task_id="t", intent="i", start_url="http://a/", website="a", source="test")


def group(*values: float | None) -> Group:
    """A group with these rewards; None is a masked member."""
    rewards = [
        Reward(trajectory_id=str(i), value=v or 0.0, masked=v is None, format_ok=True, outcome=Outcome.SUCCESS)
        for i, v in enumerate(values)
    ]
    return Group(TASK, [], rewards)


def test_advantages_use_the_sample_standard_deviation():
    # rewards 1, 0, 0, 0, 1: mean 0.4, sum of squares 2*0.36 + 3*0.16 = 1.2, sample std sqrt(1.2 / 4) = 0.547723
    assert group_advantages(group(1, 0, 0, 0, 1)) == pytest.approx(
        [1.095443, -0.730295, -0.730295, -0.730295, 1.095443], abs=1e-5
    )


def test_a_masked_member_takes_part_in_nothing():
    # scored 1, 0: mean 0.5, sample std sqrt(0.5) = 0.707107
    advantages = group_advantages(group(1, None, 0))
    assert advantages[1] is None
    assert [advantages[0], advantages[2]] == pytest.approx([0.707106, -0.707106], abs=1e-5)


def test_a_group_without_spread_has_no_advantage():
    assert group_advantages(group(1, 1, 1)) == [0, 0, 0]
    assert not group(1, 1, 1).is_effective


def test_one_scored_member_teaches_nothing():
    assert group_advantages(group(1, None, None)) == [0.0, None, None]
    assert not group(1, None, None).is_effective


def test_a_format_error_spreads_a_group():
    assert group(-1, 0, 0).is_effective


@pytest.mark.parametrize(
    ("ratio", "advantage", "objective", "clipped"),
    [
        (1.0, 2.0, 2.0, 0),
        (1.2, 2.0, 2.4, 0),
        (1.5, 2.0, 2.56, 1),  # held at 1 + 0.28
        (0.5, 2.0, 1.0, 0),  # a fall against the advantage is not held
        (0.9, -2.0, -1.8, 0),
        (0.5, -2.0, -1.6, 1),  # held at 1 - 0.2
        (1.5, -2.0, -3.0, 0),  # a rise against the advantage is not held
    ],
)
def test_clipping_is_asymmetric_at_each_sign_of_the_advantage(ratio, advantage, objective, clipped):
    old = torch.tensor([-1.0])
    loss, stats = MMGRPO().turn_loss(TurnTokens(old + math.log(ratio), old), advantage)
    assert loss.item() == pytest.approx(-objective, rel=1e-5)
    assert stats.clipped == clipped


def test_tokens_are_averaged_inside_a_turn():
    old = torch.zeros(4)
    loss, stats = MMGRPO().turn_loss(TurnTokens(torch.log(torch.tensor([1.0, 1.1, 0.9, 1.0])), old), 1.0)
    assert loss.item() == pytest.approx(-1.0)
    assert stats.ratio_sum == pytest.approx(4.0)


def test_a_clipped_token_has_no_gradient():
    logprobs = torch.tensor([0.5, 0.0], requires_grad=True)
    loss, _ = MMGRPO().turn_loss(TurnTokens(logprobs, torch.zeros(2)), 1.0)
    loss.backward()
    assert logprobs.grad.tolist() == [0.0, -0.5]


# ---- options --------------------------------------------------------------------------------------------------------


def loop(now: list[float], old: list[float], reference: list[float], advantage: float, params: MMGRPOParams) -> float:
    """The loss of one turn, token by token in Python's float64."""
    total = 0.0
    for logprob, before, anchor in zip(now, old, reference, strict=True):
        ratio = math.exp(logprob - before)
        held = min(max(ratio, 1 - params.clip_low), 1 + params.clip_high)
        value = min(ratio * advantage, held * advantage)
        if params.dual_clip is not None and advantage < 0:
            value = max(value, params.dual_clip * advantage)
        gap = anchor - logprob
        linear = params.kl_linear_from
        kl = math.exp(min(gap, linear)) * (1 + max(0.0, gap - linear)) - gap - 1
        total += value - params.kl * kl
    return -total / len(now)


@given(
    st.integers(1, 5).flatmap(lambda n: st.tuples(*[st.lists(st.floats(-6, 6), min_size=n, max_size=n)] * 3)),
    st.floats(-3, 3),
    st.sampled_from([None, 1.5, 3.0]),
    st.sampled_from([0.0, 0.01, 1.0]),
    st.sampled_from([0.5, 3.0]),
)
def test_every_option_of_the_loss_is_that_of_a_loop_in_float64(logprobs, advantage, dual_clip, kl, linear_from):
    params = MMGRPOParams(dual_clip=dual_clip, kl=kl, kl_linear_from=linear_from)
    tensors = [torch.tensor(values, dtype=torch.float64) for values in logprobs]
    loss, _ = MMGRPO(params).turn_loss(TurnTokens(tensors[0], tensors[1], tensors[2] if kl else None), advantage)
    assert loss.item() == pytest.approx(loop(*logprobs, advantage, params), rel=1e-9, abs=1e-12)


def test_the_dual_clip_bounds_the_gradient_of_a_bad_token():
    def gradient(dual_clip: float | None) -> tuple[float, int]:
        now = torch.tensor([5.0, 0.0], requires_grad=True)
        objective = MMGRPO(MMGRPOParams(dual_clip=dual_clip))
        loss, stats = objective.turn_loss(TurnTokens(now, torch.zeros(2)), -1.0)
        loss.backward()
        return now.grad[0].item(), stats.clipped

    assert gradient(None) == (pytest.approx(math.exp(5) / 2), 0)
    assert gradient(3.0) == (0.0, 1)


def test_the_deviation_of_the_iteration_is_over_all_scored_rewards():
    groups = [group(1, 0, 0, None), group(1, 1, 1, 0)]
    # scored 1 0 0 1 1 1 0: mean 4/7, sum of squares 4 * 9/49 + 3 * 16/49 = 84/49, sample variance 84/49/6 = 2/7
    std = advantage_std("batch", groups)
    assert std == pytest.approx(math.sqrt(2 / 7))
    assert group_advantages(groups[0], std)[:3] == pytest.approx([2 / 3 / std, -1 / 3 / std, -1 / 3 / std], abs=1e-5)
    assert group_advantages(groups[0], std)[3] is None
    assert advantage_std("group", groups) is None
    assert group_advantages(groups[1], advantage_std("none", groups)) == pytest.approx([0.25] * 3 + [-0.75], abs=1e-5)


@pytest.mark.parametrize("objective", [MMGRPO, MGRPO])
@pytest.mark.parametrize("kind", ["group", "batch", "none"])
def test_the_credits_of_an_iteration_use_the_chosen_deviation(objective, kind):
    groups = [group(1, 0, 0), group(1, 1, 0)]
    groups = [replace(part, trajectories=[a_trajectory(turns=2)] * 3) for part in groups]
    made = objective(objective().params.model_copy(update={"advantage_std": kind})).iteration_credits(groups)
    std = advantage_std(kind, groups)
    for part, credits in zip(groups, made, strict=True):
        assert [turns[0].advantage for turns in credits] == group_advantages(part, std)
