"""Attention over packed rows, where sequences that begin alike are encoded once up to where they part.

A packed row is cut into segments. A segment continues some earlier spans of the row: it sees those and its own past,
and nothing else, so that the row as a whole never has a mask of its own. Every language model here is loaded with this
attention; without segments it is SDPA. Names: B rows (1 where there are segments), H heads, L tokens, D head size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

SEGMENTED = "waymark_segmented"
"""The name under which transformers knows this attention."""


@dataclass(frozen=True)
class Segment:
    """Tokens [begin, end) of a packed row, and the earlier spans of the row which they continue, in order."""

    begin: int
    end: int
    context: tuple[tuple[int, int], ...] = ()


def segmented_attention(
    module: torch.nn.Module,
    query_BHLD: torch.Tensor,
    key_BHLD: torch.Tensor,
    value_BHLD: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    segments: list[Segment] | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Attention output (B, L, H, D); `segments` must cover the row in order."""
    # in mixed precision the norms of queries and keys are float32
    query_BHLD, key_BHLD = query_BHLD.to(value_BHLD.dtype), key_BHLD.to(value_BHLD.dtype)
    if segments is None and query_BHLD.is_cuda:
        return sdpa_attention_forward(
            module, query_BHLD, key_BHLD, value_BHLD, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
    if segments is None:  # on a CPU, sharing keys among heads beats the copies that transformers makes with a mask
        output_BHLD = scaled_dot_product_attention(
            query_BHLD,
            key_BHLD,
            value_BHLD,
            attn_mask=attention_mask,
            dropout_p=dropout,
            scale=scaling,
            is_causal=attention_mask is None and query_BHLD.shape[2] > 1,
            enable_gqa=True,
        )
        return output_BHLD.transpose(1, 2).contiguous(), None
    lengths = [segment.end - segment.begin for segment in segments]
    spans = [[*segment.context, (segment.begin, segment.end)] for segment in segments]
    seen = [sum(end - begin for begin, end in parts) for parts in spans]
    # one gather for all segments: a slice for each would cost a gradient as long as the row for each
    index = torch.cat([torch.arange(begin, end) for parts in spans for begin, end in parts]).to(key_BHLD.device)
    keys = key_BHLD.index_select(2, index).split(seen, dim=2)
    values = value_BHLD.index_select(2, index).split(seen, dim=2)
    outputs = [
        scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=causal_lower_right(length, total),
            dropout_p=dropout,
            scale=scaling,
            enable_gqa=True,
        )
        for query, key, value, length, total in zip(
            query_BHLD.split(lengths, dim=2), keys, values, lengths, seen, strict=True
        )
    ]
    return torch.cat(outputs, dim=2).transpose(1, 2).contiguous(), None


AttentionInterface.register(SEGMENTED, segmented_attention)
AttentionMaskInterface.register(SEGMENTED, sdpa_mask)
