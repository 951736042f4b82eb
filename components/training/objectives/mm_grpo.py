"""MM-GRPO: multimodal multi-turn GRPO (OpenWebRL, section 4.4).

    A_i  = (r_i - mean r) / (std r + 1e-6)        over the scored members of the group, sample std (ddof 1)
    loss = - 1/N  sum_i sum_t 1/|y_it|  sum_k  min(rho A_i, clip(rho, 1 - low, 1 + high) A_i)
    rho  = exp(log pi(y_itk) - log pi_old(y_itk)) against the rollout's own log-probabilities

N is the number of turn samples in the optimiser step: tokens are averaged inside a turn, every turn counts the same,
and there is no factor 1/|tau| per trajectory, which would weaken long ones. There is no KL and no entropy term. Masked
members take part in neither the statistics nor the loss.

Deviation: none known. The formula is missing from the paper's text; this is our reading of the text around it, and
tests hold it to tables computed by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import torch
from typing_extensions import override

from components.params import MMGRPOParams, Params
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


@register
@dataclass(frozen=True)
class MMGRPO(PolicyGradient):
    """The clipped surrogate with advantages within groups; every turn weighs the same."""

    name: ClassVar[str] = "mm_grpo"
    params: MMGRPOParams = field(default_factory=MMGRPOParams)

    @classmethod
    @override
    def from_params(cls, params: Params) -> Self:
        section = params.rl.objective
        assert isinstance(section, MMGRPOParams)
        return cls(section)

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
            [None if advantage is None else Credit(advantage)] * len(trajectory.turns)
            for trajectory, advantage in zip(group.trajectories, group_advantages(group), strict=True)
        ]

    @override
    def turn_loss(self, tokens: TurnTokens, advantage: float) -> tuple[torch.Tensor, TokenStats]:
        surrogate_T, stats = clipped_surrogate(tokens, advantage, self.params.clip_low, self.params.clip_high)
        return -surrogate_T.mean(), stats
