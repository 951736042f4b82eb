"""Attention over packed rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.distributed.utils import _to_kwargs
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode

from components.model import Segment, Segments, attention

ROW = Segments(
    [
        Segment(0, 5),
        Segment(5, 9, ((0, 3),)),
        Segment(9, 10, ((0, 5), (5, 7))),
        Segment(10, 16, ((0, 2),)),
        Segment(16, 19),
    ]
)


def heads(count: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(1, count, 19, 8, dtype=torch.float64, generator=generator)


def one_by_one() -> torch.Tensor:
    """Each token against exactly what it may see."""
    query, key, value = heads(4, 0), heads(2, 1), heads(2, 2)
    out = []
    for segment in ROW:
        for place in range(segment.begin, segment.end):
            spans = [*segment.context, (segment.begin, place + 1)]
            seen = [token for begin, end in spans for token in range(begin, end)]
            here = query[:, :, place : place + 1]
            out.append(
                scaled_dot_product_attention(here, key[:, :, seen], value[:, :, seen], scale=0.3, enable_gqa=True)
            )
    return torch.cat(out, dim=2).transpose(1, 2)


@pytest.fixture(params=[1, 4])
def threads(request) -> Iterator[int]:
    """Fewer than heads of keys, or more: they decide how `_continued` lays heads out."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_each_token_sees_its_context_and_its_own_past_and_nothing_else(threads) -> None:
    out, _ = attention.segmented_attention(
        torch.nn.Module(), heads(4, 0), heads(2, 1), heads(2, 2), None, scaling=0.3, segments=ROW
    )
    torch.testing.assert_close(out, one_by_one(), atol=1e-12, rtol=0)


def test_the_gpu_kernel_gets_arguments_that_compute_the_same(monkeypatch) -> None:
    """FlashAttention for sequences of different lengths, whose numbers no CPU has, by its documentation."""

    def varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, scale, window_size, enable_gqa):
        assert window_size == (-1, 0), "causal, the last query at the last key"
        assert (cu_seq_q.dtype, cu_seq_k.dtype) == (torch.int32, torch.int32)
        assert (query.shape, key.shape, value.shape) == ((19, 4, 8), (31, 2, 8), (31, 2, 8))
        out = []
        for sequence in range(len(cu_seq_q) - 1):
            q, k = slice(*cu_seq_q[sequence : sequence + 2]), slice(*cu_seq_k[sequence : sequence + 2])
            length, size = q.stop - q.start, k.stop - k.start
            assert 0 < length <= max_q
            assert size <= max_k
            visible = torch.ones(length, size, dtype=torch.bool).tril(size - length)
            out.append(
                scaled_dot_product_attention(
                    *(part.transpose(0, 1)[None] for part in (query[q], key[k], value[k])),
                    attn_mask=visible,
                    scale=scale,
                    enable_gqa=enable_gqa,
                )[0].transpose(0, 1)
            )
        return torch.cat(out)

    monkeypatch.setattr(attention, "varlen_attn", varlen_attn)
    seen = ROW.attended(torch.device("cpu"))
    keys, values = heads(2, 1)[:, :, seen], heads(2, 2)[:, :, seen]
    out = attention._flash_attention(heads(4, 0), keys, values, 0.3, ROW)
    torch.testing.assert_close(out, one_by_one(), atol=1e-12, rtol=0)


def test_the_gpu_kernel_accepts_its_arguments_and_has_a_gradient() -> None:
    """Torch's own function with its own backward, of which "meta" knows the shapes."""
    row = [torch.empty(1, count, 19, 8, device="meta", dtype=torch.bfloat16).requires_grad_() for count in (4, 2, 2)]
    query, *keys_and_values = row
    seen = ROW.attended(query.device)
    out = attention._flash_attention(query, *(part.index_select(2, seen) for part in keys_and_values), 0.3, ROW)
    assert (out.shape, out.dtype) == ((1, 19, 4, 8), torch.bfloat16)
    out.sum().backward()
    assert [part.grad.shape for part in row] == [part.shape for part in row]


def test_all_masks_are_views_of_one_tensor() -> None:
    row = heads(4, 0)
    masks = [ROW.mask(length, size, row) for length, size in zip(ROW.lengths, ROW.sizes, strict=True) if size > length]
    assert len(masks) == 3
    assert len({mask.untyped_storage().data_ptr() for mask in masks}) == 1
    assert masks[0].isfinite().tolist() == torch.ones(4, 7, dtype=torch.bool).tril(3).tolist()


class Made(TorchDispatchMode):
    """Remembers which tensors were made of numbers or copied to a device."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket.__name__ in ("arange", "_to_copy", "lift_fresh", "full", "triu"):
            self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def test_index_tensors_of_a_row_are_made_once_for_all_layers() -> None:
    row = Segments(ROW)
    made = []
    for _ in range(2):
        with Made() as layer:
            query, key, value = (torch.empty(1, count, 19, 8, device="meta") for count in (4, 2, 2))
            attention.segmented_attention(torch.nn.Module(), query, key, value, None, segments=row)
            row.starts(query.device)
        made.append(layer.names)
    assert "_to_copy" in made[0]
    assert made[1] == []


def test_segments_reach_a_sharded_model_on_a_gpu_as_they_are():
    """FSDP moves the arguments of a pass to the GPU by this function, which makes new tuples and lists."""
    _, moved = _to_kwargs((), {"segments": ROW}, torch.device("cpu"), False)
    assert moved[0]["segments"] is ROW
