"""Top-p and top-k: the likeliest tokens share the whole probability, and the others have none.

Names: N rows, V vocabulary.
"""

from __future__ import annotations

import torch


def truncate(
    logprobs_NV: torch.Tensor, top_p: float = 1.0, top_k: int = 0, keep_N: torch.Tensor | None = None
) -> torch.Tensor:
    """Log-probabilities (N, V) of the tokens that are kept, normalised again; -inf for the others.

    A token is kept while the likelier ones have less than `top_p` together (Holtzman et al. 2020, "The Curious Case of
    Neural Text Degeneration"), so at least one is. With both limits, `top_p` is of what `top_k` has left, as in vLLM
    and transformers. The choice of tokens has no gradient, their probabilities have.

    Args:
        logprobs_NV: normalised log-probabilities in nats.
        top_p: 1 keeps all.
        top_k: number of tokens that are kept at most; 0 keeps all.
        keep_N: ids that are kept whatever their probability: a token that was sampled from another model's nucleus, or
            at its edge, then has a finite log-probability.
    """
    if top_p >= 1 and top_k <= 0:
        return logprobs_NV
    with torch.no_grad():
        ordered_NV, order_NV = logprobs_NV.sort(dim=-1, descending=True)
        kept_NV = torch.ones_like(ordered_NV, dtype=torch.bool)
        if top_k > 0:
            kept_NV[:, top_k:] = False
        if top_p < 1:
            probabilities_NV = ordered_NV.exp()
            if top_k > 0:
                probabilities_NV /= probabilities_NV[:, :top_k].sum(-1, keepdim=True)
            kept_NV &= probabilities_NV.cumsum(-1) - probabilities_NV < top_p
        mask_NV = torch.zeros_like(kept_NV).scatter(1, order_NV, kept_NV)
        if keep_N is not None:
            mask_NV.scatter_(1, keep_N[:, None], True)
    return torch.log_softmax(logprobs_NV.masked_fill(~mask_NV, float("-inf")), dim=-1)
