"""M-GRPO: multi-turn GRPO (WebAgent-R1, section 2.3).

    loss = - 1/G sum_i 1/|tau_i| sum_j 1/|a_ij| sum_k [ min(rho A_i, clip(rho, 1 - low, 1 + high) A_i) - beta D_KL ]
    D_KL = exp(log pi_ref - log pi) - (log pi_ref - log pi) - 1          per token, unbiased and never negative

A_i and rho are those of MM-GRPO; the paper clips at 0.2 on both sides and has beta = 0.001. The reference is the policy
with which the phase began. The factor 1/|tau_i| gives every trajectory the same weight, so the turns of long ones count
less.

Deviations: An optimiser step that holds some turns of a trajectory counts it by their share of 1/|tau_i|, and divides
by the sum of these shares instead of G; over a whole batch both are the same. The estimate of the KL is linear far
below the reference (`surrogate.with_kl`).
"""

from __future__ import annotations

from collections.abc import Sequence
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
    advantage_std,
    clipped_surrogate,
    group_advantages,
    with_kl,
)


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
    def iteration_credits(self, groups: Sequence[Group]) -> list[list[list[Credit | None]]]:
        std = advantage_std(self.params.advantage_std, groups)
        return [self.credits(group, std) for group in groups]

    @override
    def credits(self, group: Group, std: float | None = None) -> list[list[Credit | None]]:
        return [
            [None if advantage is None else Credit(advantage, 1 / len(trajectory.turns)) for _ in trajectory.turns]
            for trajectory, advantage in zip(group.trajectories, group_advantages(group, std), strict=True)
        ]

    @override
    def turn_loss(self, tokens: TurnTokens, advantage: float) -> tuple[torch.Tensor, TokenStats]:
        params = self.params
        surrogate_T, stats = clipped_surrogate(tokens, advantage, params.clip_low, params.clip_high, params.dual_clip)
        return with_kl(surrogate_T, stats, tokens, params.kl)
