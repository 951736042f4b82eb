"""M-GRPO: multi-turn GRPO (WebAgent-R1, section 2.3).

    loss = - 1/G sum_i 1/|tau_i| sum_j 1/|a_ij| sum_k [ min(rho A_i, clip(rho, 1 - low, 1 + high) A_i) - beta D_KL ]
    D_KL = exp(log pi_ref - log pi) - (log pi_ref - log pi) - 1          per token, unbiased and never negative

A_i and rho as in MM-GRPO; the paper clips at 0.2 on both sides, beta = 0.001. The reference is the policy with which
the phase began. The 1/|tau_i| gives every trajectory the same weight, so that the turns of long ones count less.

Deviations: an optimiser step that holds some turns of a trajectory counts it by their share of 1/|tau_i|, and divides
by the sum of these shares instead of G. Over a whole batch both are the same.
Where the policy gives a token less than e^-3 of the reference's probability, the exponential goes on as its tangent:
one such token at e^-15 would else outweigh all others' gradients together.
"""

from __future__ import annotations

import torch

from components.params import RLParams
from components.rollout import Group
from components.training.objectives.surrogate import (
    Credit,
    TokenStats,
    TurnTokens,
    clipped_surrogate,
    group_advantages,
)

STEEPEST = 3.0
"""Nats below the reference from which the estimate of the KL rises no steeper."""


def assign_credit(group: Group, rl: RLParams) -> list[list[Credit | None]]:
    """Per member and turn; None for what is masked."""
    return [
        [None if advantage is None else Credit(advantage, 1 / len(trajectory.turns)) for _ in trajectory.turns]
        for trajectory, advantage in zip(group.trajectories, group_advantages(group), strict=True)
    ]


def turn_loss(tokens: TurnTokens, advantage: float, rl: RLParams) -> tuple[torch.Tensor, TokenStats]:
    """The loss of one turn, averaged over its tokens."""
    objective_T, stats = clipped_surrogate(tokens, advantage, rl.clip_low, rl.clip_high)
    if tokens.reference_T is None:
        return -objective_T.mean(), stats
    gap_T = tokens.reference_T - tokens.now_T
    near_T = gap_T.clamp(max=STEEPEST)
    kl_T = torch.exp(near_T) * (1 + gap_T - near_T) - gap_T - 1
    seen = TokenStats(stats.ratio_sum, stats.clipped, stats.tokens, kl_T.sum().item())
    return -(objective_T - rl.kl * kl_T).mean(), seen
