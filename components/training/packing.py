"""Shared-prefix packing: samples with a common prefix are encoded once up to the token at which they differ.

With one screenshot in the context, a turn's prompt does not continue the prompt of the turn before it, and the attempts
of a group differ in their responses only. If every turn is encoded by itself, the same prompts are encoded again and
again. Here the samples of a micro-batch are laid out in one row: they are sorted, and each continues the one before it
from the first token that differs, where images are compared by content. Attention (`components.model.attention`),
M-RoPE positions and gradients are those of single samples; only the order of the sums differs.

Shape suffixes: P tokens of the packed row, T response tokens of one sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from components.model import EncodedImage, Encoder, Sample, Segment, Segments


@dataclass(frozen=True)
class Pack:
    """A packed row."""

    ids: list[int]
    """Token ids (P,)."""
    positions_3P: torch.Tensor
    """M-RoPE positions: time, height, width."""
    images: list[EncodedImage]
    segments: Segments
    """Which tokens of the row each stretch of the row attends to."""
    predictors: list[np.ndarray]
    """Per sample, in the order given, the indices (T,) in the row whose outputs predict its response."""


def micro_batches(samples: Sequence[Sample], encoder: Encoder, tokens: int, share: bool = True) -> Iterator[list[int]]:
    """Indices of samples to compute together: neighbours in sorted order with at most `tokens` in all, or one sample.

    Args:
        share: count a common prefix of neighbours once, as `pack` lays it out. Otherwise each sample counts as much as
            the longest one, to which all are padded.
    """
    keys = _keys(samples, encoder.image_token_id)
    batch: list[int] = []
    length = longest = 0
    for index in _sorted(keys):
        own = len(keys[index])
        longest = max(longest, own)
        if share:
            after = length + own - (_shared(keys[batch[-1]], keys[index]) if batch else 0)
        else:
            after = (len(batch) + 1) * longest
        if batch and after > tokens:
            yield batch
            batch, after, longest = [], own, own
        batch.append(index)
        length = after
    if batch:
        yield batch


def pack(samples: Sequence[Sample], encoder: Encoder, share: bool = True) -> Pack:
    """Lay samples out in one row, with each common prefix once.

    The last token of a response predicts no other token and is left out.

    Args:
        share: if false, every sample is laid out whole, which is the baseline that sharing is measured against.
    """
    keys = _keys(samples, encoder.image_token_id)
    ids: list[int] = []
    positions: list[torch.Tensor] = []
    images: list[EncodedImage] = []
    segments: list[Segment] = []
    predictors = [np.empty(0, dtype=np.int64)] * len(samples)
    before, path = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for index in _sorted(keys):
        sample, shared = samples[index], _shared(before, keys[index]) if share else 0
        sequence = _sequence(sample)
        path = path[:shared]
        if shared < len(sequence):
            begin, end = len(ids), len(ids) + len(sequence) - shared
            segments.append(Segment(begin, end, _spans(path)))
            positions.append(encoder.positions(sequence, sample.prompt.images)[:, shared:])
            images += sample.prompt.images[int((keys[index][:shared] < 0).sum()) :]
            ids += sequence[shared:]
            path = np.concatenate([path, np.arange(begin, end)])
        before = keys[index]
        predictors[index] = path[len(path) - len(sample.response) :]
    return Pack(ids, torch.cat(positions, dim=1), images, Segments(segments), predictors)


def _sequence(sample: Sample) -> list[int]:
    return sample.prompt.ids + sample.response[:-1]


def _keys(samples: Sequence[Sample], image_token_id: int) -> list[np.ndarray]:
    """Per sample the numbers by which tokens are compared: their ids, and at the first placeholder of an image a
    negative number for the image's content."""
    contents: dict[str, int] = {}
    keys = []
    for sample in samples:
        key = np.array(_sequence(sample), dtype=np.int64)
        is_pad = key == image_token_id
        first = np.flatnonzero(is_pad & ~np.concatenate([[False], is_pad[:-1]]))
        key[first] = [-1 - contents.setdefault(image.sha256, len(contents)) for image in sample.prompt.images]
        keys.append(key)
    return keys


def _sorted(keys: list[np.ndarray]) -> list[int]:
    return sorted(range(len(keys)), key=lambda index: keys[index].tolist())


def _shared(a: np.ndarray, b: np.ndarray) -> int:
    """Length of the longest common prefix."""
    length = min(len(a), len(b))
    differ = np.flatnonzero(a[:length] != b[:length])
    return int(differ[0]) if len(differ) else length


def _spans(path: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Runs of consecutive indices, as (begin, end)."""
    if not len(path):
        return ()
    breaks = np.flatnonzero(np.diff(path) != 1) + 1
    return tuple((int(run[0]), int(run[-1]) + 1) for run in np.split(path, breaks))
