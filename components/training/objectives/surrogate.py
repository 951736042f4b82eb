"""What the policy-gradient objectives share: advantages, the clipped surrogate, the correction for a server's gap.

T response tokens of one turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from components.rollout import Group

EPSILON = 1e-6


@dataclass(frozen=True)
class TurnTokens:
    """One turn's log-probabilities in nats, each (T,): now, with gradient; of the policy that acted; and of the
    reference, where an objective needs one.

    `correction_T` weighs each token's objective (`truncated`); None weighs all 1.
    """

    now_T: torch.Tensor
    old_T: torch.Tensor
    reference_T: torch.Tensor | None = None
    correction_T: torch.Tensor | None = None


@dataclass(frozen=True)
class Credit:
    """A turn's advantage, and its weight in the mean over the turns of an optimiser step."""

    advantage: float
    weight: float = 1.0


@dataclass(frozen=True)
class TokenStats:
    """What an objective saw, over the tokens of one turn."""

    ratio_sum: float
    clipped: int
    tokens: int
    kl_sum: float = 0.0


def group_advantages(group: Group) -> list[float | None]:
    """One advantage per member, (r - mean) / (std + 1e-6), sample std over the scored members; None for a masked one.

    All 0 if fewer than two members are scored or all agree.
    """
    scored = torch.tensor(group.scored, dtype=torch.float64)
    if len(scored) < 2:
        return [None if reward.masked else 0.0 for reward in group.rewards]
    mean, std = scored.mean().item(), scored.std(correction=1).item()
    return [None if reward.masked else (reward.value - mean) / (std + EPSILON) for reward in group.rewards]


def clipped_surrogate(
    tokens: TurnTokens, advantage: float, clip_low: float, clip_high: float
) -> tuple[torch.Tensor, TokenStats]:
    """min(rho A, clip(rho, 1 - low, 1 + high) A) per token (T,), to be maximised; rho = exp(now - old)."""
    ratio_T = torch.exp(tokens.now_T - tokens.old_T)
    clipped_T = ratio_T.clamp(1 - clip_low, 1 + clip_high)
    objective_T = torch.minimum(ratio_T * advantage, clipped_T * advantage)
    with torch.no_grad():
        held = int((clipped_T * advantage < ratio_T * advantage).sum())
        stats = TokenStats(ratio_T.sum().item(), held, len(ratio_T))
    return (objective_T if tokens.correction_T is None else objective_T * tokens.correction_T), stats


def truncated(trainer_T: torch.Tensor, server_T: torch.Tensor, cap: float) -> torch.Tensor:
    """Truncated importance sampling: min(pi_trainer / pi_server, cap) per token (T,), without gradient.

    A server that computes otherwise than the trainer samples from a policy that is not quite the trainer's. With this
    the ratio is taken against the trainer's own log-probabilities and what the server would not have said counts less
    (Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy RL training").
    """
    return torch.exp(trainer_T - server_T).clamp(max=cap).detach()
