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

from dataclasses import dataclass

import torch

from components.rollout import Group

EPSILON = 1e-6


@dataclass(frozen=True)
class TokenStats:
    """What the clipped objective saw, over the tokens of one turn."""

    ratio_sum: float
    clipped: int
    tokens: int


def group_advantages(group: Group) -> list[float | None]:
    """One advantage per member; None for a masked one. All 0 if fewer than two members are scored or all agree."""
    scored = torch.tensor(group.scored, dtype=torch.float64)
    if len(scored) < 2:
        return [None if reward.masked else 0.0 for reward in group.rewards]
    mean, std = scored.mean().item(), scored.std(correction=1).item()
    return [None if reward.masked else (reward.value - mean) / (std + EPSILON) for reward in group.rewards]


def turn_loss(
    logprobs_T: torch.Tensor, old_logprobs_T: torch.Tensor, advantage: float, clip_low: float, clip_high: float
) -> tuple[torch.Tensor, TokenStats]:
    """The loss of one turn, averaged over its T tokens, not yet divided by the number of turns."""
    ratio_T = torch.exp(logprobs_T - old_logprobs_T)
    clipped_T = ratio_T.clamp(1 - clip_low, 1 + clip_high)
    objective_T = torch.minimum(ratio_T * advantage, clipped_T * advantage)
    with torch.no_grad():
        held = int((clipped_T * advantage < ratio_T * advantage).sum())
        stats = TokenStats(ratio_T.sum().item(), held, len(ratio_T))
    return -objective_T.mean(), stats
