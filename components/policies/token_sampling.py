"""Samples tokens from logits. Names: B rows, V vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from components.params import SamplingParams


def sample_tokens(
    logits_BV: torch.Tensor, sampling: Sequence[SamplingParams], uniform_B: Sequence[float]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sample one id per row: greedily if its temperature is 0, else by inverse transform of `uniform_B`.

    Args:
        logits_BV: logits of any scale.
        sampling: temperature, top-p and top-k of each row.
        uniform_B: a random number in [0, 1) per row.

    Returns:
        ids (B,), and their log-probabilities (B,) in nats under the distribution from which they were sampled. A greedy
        id has its log-probability at temperature 1.
    """
    temperature_B1 = torch.tensor([[s.temperature or 1.0] for s in sampling], device=logits_BV.device)
    logprobs_BV = torch.log_softmax(logits_BV / temperature_B1, dim=-1)
    if any(s.top_p < 1 or s.top_k > 0 for s in sampling):
        logprobs_BV = torch.stack([_truncate(row, s) for row, s in zip(logprobs_BV, sampling, strict=True)])
    cumulative_BV = logprobs_BV.double().exp().cumsum(dim=-1)
    target_B1 = torch.tensor(uniform_B, dtype=torch.float64, device=logits_BV.device)[:, None] * cumulative_BV[:, -1:]
    sampled_B = torch.searchsorted(cumulative_BV, target_B1, right=True)[:, 0].clamp(max=logits_BV.shape[1] - 1)
    greedy_B = logits_BV.argmax(dim=-1)
    is_greedy_B = torch.tensor([s.temperature == 0 for s in sampling], device=logits_BV.device)
    chosen_B = torch.where(is_greedy_B, greedy_B, sampled_B)
    return chosen_B, logprobs_BV.gather(1, chosen_B[:, None])[:, 0]


def _truncate(logprobs_V: torch.Tensor, sampling: SamplingParams) -> torch.Tensor:
    """Apply top-k and top-p, and normalise again."""
    ordered_V, order_V = logprobs_V.sort(descending=True)
    keep_V = torch.ones_like(ordered_V, dtype=torch.bool)
    if sampling.top_k > 0:
        keep_V[sampling.top_k :] = False
    if sampling.top_p < 1:
        before_V = ordered_V.exp().cumsum(-1) - ordered_V.exp()
        keep_V &= before_V < sampling.top_p
    kept_V = torch.full_like(logprobs_V, float("-inf"))
    kept_V[order_V[keep_V]] = ordered_V[keep_V]
    return torch.log_softmax(kept_V, dim=-1)
