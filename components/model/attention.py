"""Attention over packed rows, in which a common beginning of several sequences is encoded only once.

A packed row is cut into segments. A segment continues some earlier spans of the row: it attends to those and to its own
past, and to nothing else, so the row needs no full mask. Every language model here is loaded with this attention;
without segments it is SDPA.

Names: B rows (1 where there are segments), H heads, K heads of keys and values, L tokens, D head size.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import torch
from torch.nn.attention.varlen import varlen_attn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

SEGMENTED = "waymark_segmented"
"""The name by which transformers finds this attention."""
SHARED_KEYS: dict[str, Any] = {"enable_gqa": True} if "enable_gqa" in inspect.signature(varlen_attn).parameters else {}
"""The argument of `varlen_attn` for heads that share keys. PyTorch before 2.12 accepts such heads without it, and the
images of GPU machines often bring an older PyTorch than this project's lock."""


@dataclass(frozen=True)
class Segment:
    """Tokens [begin, end) of a packed row, and the earlier spans [begin, end) that they continue, in order."""

    begin: int
    end: int
    context: tuple[tuple[int, int], ...] = ()


class Segments(Sequence[Segment]):
    """The segments of a row, which they cover in order. Index tensors and masks are computed once for all layers.

    It is neither a tuple nor a list: on a GPU, FSDP makes plain ones of those when it moves the arguments of a pass.
    """

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._segments = tuple(segments)

    @overload
    def __getitem__(self, index: int) -> Segment: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Segment, ...]: ...

    def __getitem__(self, index: int | slice) -> Segment | tuple[Segment, ...]:
        return self._segments[index]

    def __len__(self) -> int:
        return len(self._segments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Segments) and self._segments == other._segments

    def __hash__(self) -> int:
        return hash(self._segments)

    @cached_property
    def lengths(self) -> list[int]:
        """Number of tokens of each segment."""
        return [segment.end - segment.begin for segment in self]

    @cached_property
    def sizes(self) -> list[int]:
        """Number of tokens to which each segment attends, including its own."""
        return [
            length + sum(end - begin for begin, end in segment.context)
            for segment, length in zip(self, self.lengths, strict=True)
        ]

    def attended(self, device: torch.device) -> torch.Tensor:
        """Positions in the row to which each segment attends, (sum of `sizes`,), one segment after the other."""
        return self._tensors(device)[0]

    def starts(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Where each segment begins, and where the last one ends: in the row, and in `attended`. Each (segments +
        1,)."""
        return self._tensors(device)[1:]

    def _tensors(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """`attended` and `starts`, copied once per device, because a copy in each layer would wait for the GPU."""
        if device not in self._on_device:
            spans = [span for segment in self for span in (*segment.context, (segment.begin, segment.end))]
            attended = torch.cat([torch.arange(begin, end) for begin, end in spans])
            starts = [
                torch.tensor([0, *itertools.accumulate(counts)], dtype=torch.int32)
                for counts in (self.lengths, self.sizes)
            ]
            self._on_device[device] = (attended.to(device), starts[0].to(device), starts[1].to(device))
        return self._on_device[device]

    def mask(self, length: int, size: int, like: torch.Tensor, copies: int = 1) -> torch.Tensor:
        """The mask (length * copies, size) added to the attention scores of a segment.

        All of the segment's tokens attend to its context, and each attends to the segment's tokens up to itself.

        Args:
            length: the segment's own tokens.
            size: the tokens to which it attends.
            like: gives device and dtype.
            copies: how many times each token's row is repeated, in succession.

        Returns:
            a view of one mask for all segments.
        """
        longest, context = self._longest
        key = (like.device, like.dtype, copies)
        if key not in self._masks:
            future = torch.full((longest, longest), -torch.inf, dtype=like.dtype, device=like.device).triu(1)
            mask = torch.cat([future.new_zeros(longest, context), future], dim=1)
            self._masks[key] = mask.repeat_interleave(copies, dim=0)
        return self._masks[key][: length * copies, context - (size - length) : context + length]

    @cached_property
    def _longest(self) -> tuple[int, int]:
        """Largest number of own tokens, and of context tokens, among the segments with context."""
        longer = [(length, size) for length, size in zip(self.lengths, self.sizes, strict=True) if size > length]
        return max(length for length, _ in longer), max(size - length for length, size in longer)

    @cached_property
    def _on_device(self) -> dict[torch.device, tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        return {}

    @cached_property
    def _masks(self) -> dict[tuple[torch.device, torch.dtype, int], torch.Tensor]:
        return {}


def segmented_attention(
    module: torch.nn.Module,
    query_BHLD: torch.Tensor,
    key_BHLD: torch.Tensor,
    value_BHLD: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    segments: Segments | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Attention output (B, L, H, D), in the interface of transformers. `segments` must cover the row in order."""
    # in mixed precision the norms of queries and keys are float32
    query_BHLD, key_BHLD = query_BHLD.to(value_BHLD.dtype), key_BHLD.to(value_BHLD.dtype)
    if segments is None and query_BHLD.is_cuda:
        return sdpa_attention_forward(
            module, query_BHLD, key_BHLD, value_BHLD, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
    # numbers to add: the decoder's mask (`policies.row_cache`); the masks of transformers are booleans
    if segments is None and attention_mask is not None and attention_mask.dtype == query_BHLD.dtype:
        copies = _copies(query_BHLD, key_BHLD.shape[1])
        mask = attention_mask.repeat_interleave(copies, dim=2)
        return _grouped(query_BHLD, key_BHLD, value_BHLD, mask, copies, scaling, dropout).contiguous(), None
    if segments is None:  # on a CPU, shared keys are faster than the copies that transformers makes if there is a mask
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
    # one gather for all segments: each slice would cost a gradient as long as the whole row
    index = segments.attended(key_BHLD.device)
    key_BHLD, value_BHLD = key_BHLD.index_select(2, index), value_BHLD.index_select(2, index)
    if query_BHLD.is_cuda and query_BHLD.dtype in (torch.bfloat16, torch.float16) and not dropout:
        return _flash_attention(query_BHLD, key_BHLD, value_BHLD, scaling, segments), None
    lengths, sizes = segments.lengths, segments.sizes
    outputs = [
        _causal(query, key, value, scaling, dropout)
        if size == length
        else _continued(query, key, value, segments, scaling, dropout)
        for query, key, value, length, size in zip(
            query_BHLD.split(lengths, dim=2),
            key_BHLD.split(sizes, dim=2),
            value_BHLD.split(sizes, dim=2),
            lengths,
            sizes,
            strict=True,
        )
    ]
    return torch.cat(outputs, dim=1), None


def _causal(
    query_1HLD: torch.Tensor, key_1KLD: torch.Tensor, value_1KLD: torch.Tensor, scaling: float | None, dropout: float
) -> torch.Tensor:
    """Output (1, L, H, D) of a segment without context."""
    output_1HLD = scaled_dot_product_attention(
        query_1HLD, key_1KLD, value_1KLD, is_causal=True, dropout_p=dropout, scale=scaling, enable_gqa=True
    )
    return output_1HLD.transpose(1, 2)


def _continued(
    query_1HLD: torch.Tensor,
    key_1KSD: torch.Tensor,
    value_1KSD: torch.Tensor,
    segments: Segments,
    scaling: float | None,
    dropout: float,
) -> torch.Tensor:
    """Output (1, L, H, D) of a segment that attends to S tokens, of which the last L are its own."""
    copies = _copies(query_1HLD, key_1KSD.shape[1])
    mask = segments.mask(query_1HLD.shape[2], key_1KSD.shape[2], query_1HLD, copies)
    if mask.is_cuda:
        mask = mask.contiguous()  # the kernels of a GPU read 16 bytes at once, and the view begins anywhere
    return _grouped(query_1HLD, key_1KSD, value_1KSD, mask, copies, scaling, dropout)


def _copies(query_BHLD: torch.Tensor, shared: int) -> int:
    """How many heads that share keys are computed as one head with more queries, which gives larger products.

    On a CPU this is more than one only if every thread still gets a head.
    """
    heads = query_BHLD.shape[1]
    return heads // shared if query_BHLD.is_cuda or torch.get_num_threads() <= shared else 1


def _grouped(
    query_BHLD: torch.Tensor,
    key_BKSD: torch.Tensor,
    value_BKSD: torch.Tensor,
    mask: torch.Tensor,
    copies: int,
    scaling: float | None,
    dropout: float,
) -> torch.Tensor:
    """Output (B, L, H, D) with `copies` heads computed as one; each row of the mask is repeated as often."""
    length = query_BHLD.shape[2]
    query_BGLCD = query_BHLD.unflatten(1, (-1, copies)).transpose(2, 3)
    output_BGMD = scaled_dot_product_attention(
        query_BGLCD.flatten(2, 3),
        key_BKSD,
        value_BKSD,
        attn_mask=mask,
        dropout_p=dropout,
        scale=scaling,
        enable_gqa=True,
    )
    return output_BGMD.unflatten(2, (length, copies)).transpose(1, 2).flatten(2, 3)


def _flash_attention(
    query_1HLD: torch.Tensor,
    key_1HSD: torch.Tensor,
    value_1HSD: torch.Tensor,
    scaling: float | None,
    segments: Segments,
) -> torch.Tensor:
    """FlashAttention over sequences of different lengths; the last query of each is aligned with its last key."""
    query_starts, key_starts = segments.starts(query_1HLD.device)
    output_LHD = varlen_attn(
        query_1HLD[0].transpose(0, 1),
        key_1HSD[0].transpose(0, 1),
        value_1HSD[0].transpose(0, 1),
        query_starts,
        key_starts,
        max(segments.lengths),
        max(segments.sizes),
        scale=scaling,
        window_size=(-1, 0),
        **SHARED_KEYS,
    )
    assert isinstance(output_LHD, torch.Tensor)
    return output_LHD[None]


AttentionInterface.register(SEGMENTED, segmented_attention)
AttentionMaskInterface.register(SEGMENTED, sdpa_mask)
