"""Log-probabilities of recorded tokens, computed in chunks that bound the memory for logits.

The logits of 16,000 tokens over a vocabulary of 152,000 take 10 GB in float32, and their softmax as much again. Here, a
chunk has at most `MAX_LOGITS` logits. With several chunks, the backward pass computes each of them again, so the memory
held between the passes does not grow with the vocabulary.

Names: N tokens to score (n in one chunk), C channels of the model, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint
from transformers import Qwen3VLForConditionalGeneration

MAX_LOGITS = 2**26
"""256 MiB in float32, or 441 positions of Qwen3-VL's vocabulary. A pass holds about five copies."""

Distribution = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Maps logits (n, V) and the tokens to score (n,) to log-probabilities (n, V), row by row."""


def add_token_logprobs(model: Qwen3VLForConditionalGeneration) -> None:
    """Add the method `token_logprobs(positions_N, tokens_N, distribution, **inputs)` to a model (`_token_logprobs`).

    It must be a method of the model, because sharded weights are gathered only for methods (`training.sharding`).
    """
    method = MethodType(_token_logprobs, model)
    model.token_logprobs = method  # type: ignore[assignment]  # torch knows attributes that are tensors or modules


def _token_logprobs(
    model: Qwen3VLForConditionalGeneration,
    positions_N: torch.Tensor,
    tokens_N: torch.Tensor,
    distribution: Distribution,
    **inputs: Any,
) -> torch.Tensor:
    """Log-probabilities (N,) of `tokens_N`, each predicted at its position in the flattened rows of `inputs`.

    Attempts with the same prompt share the position that predicts their first token. The gradients of such a position
    are added in a fixed order by `index_select`; by `[positions_N]`, PyTorch's threads add them in any order.
    """
    hidden_MC = model.model(**inputs, use_cache=False).last_hidden_state.flatten(0, 1)
    return chunked_logprobs(model.lm_head, hidden_MC.index_select(0, positions_N), tokens_N, distribution)


def chunked_logprobs(
    head: torch.nn.Linear, hidden_NC: torch.Tensor, tokens_N: torch.Tensor, distribution: Distribution
) -> torch.Tensor:
    """Log-probabilities (N,) of `tokens_N`, given the last hidden states of the positions that predict them."""

    def chunk_logprobs(hidden_nC: torch.Tensor, tokens_n: torch.Tensor) -> torch.Tensor:
        return distribution(head(hidden_nC), tokens_n).gather(1, tokens_n[:, None])[:, 0]

    chunk_size = max(1, MAX_LOGITS // head.out_features)
    if len(tokens_N) <= chunk_size:
        return chunk_logprobs(hidden_NC, tokens_N)
    chunks = zip(hidden_NC.split(chunk_size), tokens_N.split(chunk_size), strict=True)
    return torch.cat(
        [checkpoint(chunk_logprobs, *chunk, use_reentrant=False, preserve_rng_state=False) for chunk in chunks]
    )
