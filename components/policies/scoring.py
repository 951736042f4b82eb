"""Log-probabilities of recorded tokens, without the logits of all of them at once.

A row of 16,000 tokens over 152,000 words is 10 GB of logits in float32, and their softmax as much again. Here so many
positions as `LOGITS_AT_ONCE` allows are computed together, and where that takes several chunks, the backward pass
computes each of them again: what is held between the passes does not grow with the vocabulary.

Names: N tokens to score, C channels of the model, V words of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint
from transformers import Qwen3VLForConditionalGeneration

LOGITS_AT_ONCE = 2**26
"""256 MiB in float32, of which a pass has about five copies: 441 positions of Qwen3-VL's vocabulary."""

Distribution = Callable[[torch.Tensor], torch.Tensor]
"""Logits (n, V) to log-probabilities (n, V), each row by itself."""


def as_scorer(model: Qwen3VLForConditionalGeneration) -> None:
    """Give a model the method `token_logprobs(places_N, wanted_N, distribution, **inputs)`.

    It is a method because weights that are spread over processes come together for methods of the model
    (`training.sharding`).
    """
    model.token_logprobs = MethodType(_token_logprobs, model)


def _token_logprobs(
    model: Qwen3VLForConditionalGeneration,
    places_N: torch.Tensor,
    wanted_N: torch.Tensor,
    distribution: Distribution,
    **inputs: Any,
) -> torch.Tensor:
    """Log-probabilities (N,) of wanted tokens, each predicted at its place in the rows of `inputs`, counted through."""
    hidden_NC = model.model(**inputs, use_cache=False).last_hidden_state.flatten(0, 1)[places_N]
    return in_chunks(model.lm_head, hidden_NC, wanted_N, distribution)


def in_chunks(
    head: torch.nn.Linear, hidden_NC: torch.Tensor, wanted_N: torch.Tensor, distribution: Distribution
) -> torch.Tensor:
    """Log-probabilities (N,) of wanted tokens by their last hidden states."""

    def of(hidden_nC: torch.Tensor, wanted_n: torch.Tensor) -> torch.Tensor:
        return distribution(head(hidden_nC)).gather(1, wanted_n[:, None])[:, 0]

    most = max(1, LOGITS_AT_ONCE // head.out_features)
    if len(wanted_N) <= most:
        return of(hidden_NC, wanted_N)
    chunks = zip(hidden_NC.split(most), wanted_N.split(most), strict=True)
    return torch.cat([checkpoint(of, *chunk, use_reentrant=False, preserve_rng_state=False) for chunk in chunks])
