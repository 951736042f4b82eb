"""The objective, by hand (OpenWebRL, section 4.4)."""

import math

import pytest
import torch

from components.records import Outcome, Reward, Task
from components.rollout import Group
from components.training.objectives.mm_grpo import MMGRPO
from components.training.objectives.surrogate import TurnTokens, group_advantages

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
