"""MM-GRPO: multimodal multi-turn GRPO (OpenWebRL, section 4.4).

    A_i  = (r_i - mean r) / (std r + 1e-6)        over the scored members of the group, sample std (ddof 1)
    loss = - 1/N  sum_i sum_t 1/|y_it|  sum_k  min(rho A_i, clip(rho, 1 - low, 1 + high) A_i)
    rho  = exp(log pi(y_itk) - log pi_old(y_itk)) against the rollout's own log-probabilities

N is the number of turn samples in the optimiser step: tokens are averaged inside a turn, every turn counts the same,
and there is no 1/|tau| per trajectory, which would weaken long ones. No KL, no entropy. Masked members take part in
neither the statistics nor the loss.

Deviation: none known. The paper's text drops the formula; this is DESIGN's reading of it, held by hand-computed tables.
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


def assign_credit(group: Group, rl: RLParams) -> list[list[Credit | None]]:
    """Per member and turn; None for what is masked."""
    return [
        [None if advantage is None else Credit(advantage)] * len(trajectory.turns)
        for trajectory, advantage in zip(group.trajectories, group_advantages(group), strict=True)
    ]


def turn_loss(tokens: TurnTokens, advantage: float, rl: RLParams) -> tuple[torch.Tensor, TokenStats]:
    """The loss of one turn, averaged over its tokens."""
    objective_T, stats = clipped_surrogate(tokens, advantage, rl.clip_low, rl.clip_high)
    return -objective_T.mean(), stats
