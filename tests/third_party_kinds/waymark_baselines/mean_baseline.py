"""REINFORCE with the group's mean as the baseline and no division by the standard deviation.

    A_i  = r_i - mean r                            over the scored members of the group
    loss = - 1/N  sum_i sum_t 1/|y_it|  sum_k  A_i log pi(y_itk)

N is the number of turn samples in the optimiser step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import torch

from components.params import Params
from components.rollout import Group
from components.training.objectives.policy_gradient import PolicyGradient
from components.training.objectives.surrogate import Credit, TokenStats, TurnTokens
from waymark_baselines.parameters import MeanBaselineParams


@dataclass(frozen=True)
class MeanBaseline(PolicyGradient):
    """Reward minus the group's mean."""

    name: ClassVar[str] = "mean_baseline"
    params: MeanBaselineParams = field(default_factory=MeanBaselineParams)

    @classmethod
    def from_params(cls, params: Params) -> Self:
        section = params.rl.objective
        assert isinstance(section, MeanBaselineParams)
        return cls(section)

    def credits(self, group: Group) -> list[list[Credit | None]]:
        mean = sum(group.scored) / max(len(group.scored), 1)
        return [
            [None if reward.masked else Credit(reward.value - mean)] * len(trajectory.turns)
            for trajectory, reward in zip(group.trajectories, group.rewards, strict=True)
        ]

    def turn_loss(self, tokens: TurnTokens, advantage: float) -> tuple[torch.Tensor, TokenStats]:
        with torch.no_grad():
            ratio = torch.exp(tokens.now_T - tokens.old_T).sum().item()
        return -(tokens.now_T * advantage).mean(), TokenStats(ratio, 0, len(tokens.now_T))
