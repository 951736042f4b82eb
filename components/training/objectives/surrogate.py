"""What the policy-gradient objectives share: advantages, the clipped surrogate, the correction for a server's gap.

Shape suffix: T response tokens of one turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from components.rollout import Group

EPSILON = 1e-6


@dataclass(frozen=True)
class TurnTokens:
    """One turn's log-probabilities in nats, each (T,)."""

    now_T: torch.Tensor
    """Of the policy in training, with gradient."""
    old_T: torch.Tensor
    """Of the policy that acted."""
    reference_T: torch.Tensor | None = None
    """Of the reference policy, where the objective needs one."""
    correction_T: torch.Tensor | None = None
    """Weights of the tokens (`truncated`); None weighs all of them 1."""


@dataclass(frozen=True)
class Credit:
    """A turn's advantage, and its weight in the mean over the turns of an optimiser step."""

    advantage: float
    weight: float = 1.0


@dataclass(frozen=True)
class TokenStats:
    """Sums over the tokens of one turn, for the update's figures. `clipped` counts tokens that the clip holds back."""

    ratio_sum: float
    clipped: int
    tokens: int
    kl_sum: float = 0.0


def group_advantages(group: Group) -> list[float | None]:
    """One advantage per member, (r - mean) / (std + 1e-6), with the sample standard deviation over the scored members.

    A masked member has None. All are 0 if fewer than two members are scored or all rewards agree.
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
    surrogate_T = torch.minimum(ratio_T * advantage, clipped_T * advantage)
    with torch.no_grad():
        held_back = int((clipped_T * advantage < ratio_T * advantage).sum())
        stats = TokenStats(ratio_T.sum().item(), held_back, len(ratio_T))
    return (surrogate_T if tokens.correction_T is None else surrogate_T * tokens.correction_T), stats


def truncated(trainer_T: torch.Tensor, server_T: torch.Tensor, cap: float) -> torch.Tensor:
    """Truncated importance sampling: min(pi_trainer / pi_server, cap) per token (T,), without gradient.

    A server that computes with other kernels than the trainer samples from a slightly different policy. With this
    correction the ratio is taken against the trainer's own log-probabilities, and a token that the trainer finds less
    likely than the server did weighs less (Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy
    RL training").
    """
    return torch.exp(trainer_T - server_T).clamp(max=cap).detach()
