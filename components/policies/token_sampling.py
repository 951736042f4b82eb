"""Samples tokens from logits. Names: B rows, V vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from components.model.truncation import truncate
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
        rows = zip(logprobs_BV.split(1), sampling, strict=True)
        logprobs_BV = torch.cat([truncate(row_1V, s.top_p, s.top_k) for row_1V, s in rows])
    cumulative_BV = logprobs_BV.double().exp().cumsum(dim=-1)
    target_B1 = torch.tensor(uniform_B, dtype=torch.float64, device=logits_BV.device)[:, None] * cumulative_BV[:, -1:]
    sampled_B = torch.searchsorted(cumulative_BV, target_B1, right=True)[:, 0].clamp(max=logits_BV.shape[1] - 1)
    greedy_B = logits_BV.argmax(dim=-1)
    is_greedy_B = torch.tensor([s.temperature == 0 for s in sampling], device=logits_BV.device)
    chosen_B = torch.where(is_greedy_B, greedy_B, sampled_B)
    return chosen_B, logprobs_BV.gather(1, chosen_B[:, None])[:, 0]
