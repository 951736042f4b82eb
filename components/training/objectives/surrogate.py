"""What the policy-gradient objectives share: advantages, the clipped surrogate, the correction for a server's gap.

Shape suffix: T response tokens of one turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

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
    """A turn's advantage, and its weight in the mean over the turns of an optimiser step. A turn of weight 0 is not
    learned from."""

    advantage: float
    weight: float = 1.0


@dataclass(frozen=True)
class TokenStats:
    """Sums over the tokens of one turn, for the update's figures. `clipped` counts tokens that the clip holds back."""

    ratio_sum: float
    clipped: int
    tokens: int
    kl_sum: float = 0.0


def advantage_std(kind: Literal["group", "batch", "none"], groups: Sequence[Group]) -> float | None:
    """The divisor of an iteration's advantages as `rl.objective.advantage_std` names it; None is each group's own.

    Args:
        groups: those that the update learns from, which are the effective ones.
    """
    if kind == "group":
        return None
    if kind == "none":
        return 1.0
    scored = torch.tensor([reward for group in groups for reward in group.scored], dtype=torch.float64)
    return scored.std(correction=1).item() if len(scored) > 1 else 1.0


def group_std(group: Group, std: float | None = None) -> float:
    """The divisor of a group's advantages: `std`, or the sample standard deviation over its scored members for None."""
    if std is not None:
        return std
    return torch.tensor(group.scored, dtype=torch.float64).std(correction=1).item()


def group_advantages(group: Group, std: float | None = None) -> list[float | None]:
    """One advantage per member, (r - mean) / (std + 1e-6), with the mean over the scored members.

    A masked member has None. All are 0 if fewer than two members are scored or all rewards agree.

    Args:
        std: the divisor; None takes the sample standard deviation over the scored members.
    """
    scored = torch.tensor(group.scored, dtype=torch.float64)
    if len(scored) < 2:
        return [None if reward.masked else 0.0 for reward in group.rewards]
    mean = scored.mean().item()
    divisor = group_std(group, std) + EPSILON
    return [None if reward.masked else (reward.value - mean) / divisor for reward in group.rewards]


def clipped_surrogate(
    tokens: TurnTokens, advantage: float, clip_low: float, clip_high: float, dual_clip: float | None = None
) -> tuple[torch.Tensor, TokenStats]:
    """min(rho A, clip(rho, 1 - low, 1 + high) A) per token (T,), to be maximised; rho = exp(now - old).

    Args:
        dual_clip: c; where A is negative, the result is at least c A, so that a token beyond it has no gradient.
    """
    ratio_T = torch.exp(tokens.now_T - tokens.old_T)
    clipped_T = ratio_T.clamp(1 - clip_low, 1 + clip_high)
    surrogate_T = torch.minimum(ratio_T * advantage, clipped_T * advantage)
    held_back_T = clipped_T * advantage < ratio_T * advantage
    if dual_clip is not None and advantage < 0:
        held_back_T = held_back_T | (ratio_T > dual_clip)
        surrogate_T = surrogate_T.clamp(min=dual_clip * advantage)
    with torch.no_grad():
        held_back = int(held_back_T.sum())
        stats = TokenStats(ratio_T.sum().item(), held_back, len(ratio_T))
    return (surrogate_T if tokens.correction_T is None else surrogate_T * tokens.correction_T), stats


def with_kl(
    surrogate_T: torch.Tensor, stats: TokenStats, tokens: TurnTokens, beta: float, linear_from: float
) -> tuple[torch.Tensor, TokenStats]:
    """The loss of a turn, a scalar: minus the mean of surrogate - beta KL, and the figures with the sum of the KL.

    The estimate of KL(now || ref) is exp(ref - now) - (ref - now) - 1 per token (Schulman 2020, "Approximating KL
    divergence"), never negative. It is unbiased for tokens that the present policy samples from its whole distribution:
    in the first step of an iteration without stale rollouts, and without top-p, with which `rl.objective.kl` is
    refused. Its gradient is then that of KL(ref || now). Where the policy gives a token less than e^-`linear_from` of
    the reference's probability, the exponential continues as its tangent: otherwise one such token would outweigh the
    gradients of all others together.
    """
    if tokens.reference_T is None:
        return -surrogate_T.mean(), stats
    gap_T = tokens.reference_T - tokens.now_T
    near_T = gap_T.clamp(max=linear_from)
    kl_T = torch.exp(near_T) * (1 + gap_T - near_T) - gap_T - 1
    return -(surrogate_T - beta * kl_T).mean(), replace(stats, kl_sum=kl_T.sum().item())


def truncated(trainer_T: torch.Tensor, server_T: torch.Tensor, cap: float) -> torch.Tensor:
    """Truncated importance sampling: min(pi_trainer / pi_server, cap) per token (T,), without gradient.

    A server that computes with other kernels than the trainer samples from a slightly different policy. With this
    correction the ratio is taken against the trainer's own log-probabilities, and a token that the trainer finds less
    likely than the server did weighs less (Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy
    RL training").
    """
    return torch.exp(trainer_T - server_T).clamp(max=cap).detach()
