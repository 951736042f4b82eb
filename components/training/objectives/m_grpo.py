"""M-GRPO: multi-turn GRPO (WebAgent-R1, section 2.3).

    loss = - 1/G sum_i 1/|tau_i| sum_j 1/|a_ij| sum_k [ min(rho A_i, clip(rho, 1 - low, 1 + high) A_i) - beta D_KL ]
    D_KL = exp(log pi_ref - log pi) - (log pi_ref - log pi) - 1          per token, unbiased and never negative

A_i and rho are those of MM-GRPO; the paper clips at 0.2 on both sides and has beta = 0.001. The reference is the policy
with which the phase began. The factor 1/|tau_i| gives every trajectory the same weight, so the turns of long ones count
less.

Deviations: An optimiser step that holds some turns of a trajectory counts it by their share of 1/|tau_i|, and divides
by the sum of these shares instead of G; over a whole batch both are the same. Where the policy gives a token less than
e^-3 of the reference's probability, the exponential continues as its tangent: otherwise one such token at e^-15 would
outweigh the gradients of all others together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import torch
from typing_extensions import override

from components.params import MGRPOParams, Params
from components.rollout import Group
from components.training.objectives.policy_gradient import PolicyGradient
from components.training.objectives.registry import register
from components.training.objectives.surrogate import (
    Credit,
    TokenStats,
    TurnTokens,
    clipped_surrogate,
    group_advantages,
)

STEEPEST = 3.0
"""Nats below the reference from which on the KL estimate grows linearly."""


@register
@dataclass(frozen=True)
class MGRPO(PolicyGradient):
    """The clipped surrogate with a KL to the reference; every trajectory weighs the same."""

    name: ClassVar[str] = "m_grpo"
    params: MGRPOParams = field(default_factory=MGRPOParams)

    @classmethod
    @override
    def from_params(cls, params: Params) -> Self:
        section = params.rl.objective
        assert isinstance(section, MGRPOParams)
        return cls(section)

    @property
    @override
    def needs_reference(self) -> bool:
        return self.params.kl > 0

    @property
    @override
    def epochs(self) -> int:
        return self.params.ppo_epochs

    @property
    @override
    def tis_cap(self) -> float | None:
        return self.params.tis_cap

    @override
    def credits(self, group: Group) -> list[list[Credit | None]]:
        return [
            [None if advantage is None else Credit(advantage, 1 / len(trajectory.turns)) for _ in trajectory.turns]
            for trajectory, advantage in zip(group.trajectories, group_advantages(group), strict=True)
        ]

    @override
    def turn_loss(self, tokens: TurnTokens, advantage: float) -> tuple[torch.Tensor, TokenStats]:
        surrogate_T, stats = clipped_surrogate(tokens, advantage, self.params.clip_low, self.params.clip_high)
        if tokens.reference_T is None:
            return -surrogate_T.mean(), stats
        gap_T = tokens.reference_T - tokens.now_T
        near_T = gap_T.clamp(max=STEEPEST)
        kl_T = torch.exp(near_T) * (1 + gap_T - near_T) - gap_T - 1
        stats_with_kl = TokenStats(stats.ratio_sum, stats.clipped, stats.tokens, kl_T.sum().item())
        return -(surrogate_T - self.params.kl * kl_T).mean(), stats_with_kl
