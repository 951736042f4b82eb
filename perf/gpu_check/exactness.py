"""Packed rows against single sequences, and the attention of packed rows against its definition.

On a GPU, a packed row in bfloat16 is one call of FlashAttention for sequences of different lengths
(`torch.nn.attention.varlen`); in float32, and on a CPU, each segment is a call of its own. Single sequences are padded
and use transformers' attention, so the two share no kernel.

The limits of log-probabilities are those of training (`Tolerances.packing` and `mean_packing`), beyond which training
goes on without packing. Gradients are compared by the norm of their difference over the norm of the single sequences'
gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from components.model import VLM, Encoder, Sample, Segment, Segments
from components.model.attention import segmented_attention
from components.params import ModelParams
from components.training.forward import naive_logprobs, response_logprobs
from perf.gpu_check.setting import Outcome, Setting, free_memory, say
from perf.packing import dense_mask
from perf.training_workload import BFLOAT16, FLOAT32, SHAPES, TOKENIZER, Precision, random_model, trajectory

PRECISIONS: dict[str, Precision] = {"float32": FLOAT32, "bfloat16": BFLOAT16}
GRADIENT_LIMITS = {"float32": 1e-3, "bfloat16": 0.1}
"""Relative differences that the order of sums explains: bfloat16 has 8 bits of precision, and errors add up over
layers. On a CPU, the differences are a tenth of these."""
ATTENTION_LIMITS = {"float32": 1e-5, "bfloat16": 0.02}
"""Differences of outputs of the order of 1 from a computation in float64; bfloat16 resolves 0.008 there."""
BASE_MODEL = "base-model"
"""The trained small model of this repository; all others have random weights."""
Logprobs = Callable[[VLM, Encoder, list[Sample]], list[torch.Tensor]]


@dataclass(frozen=True)
class PackingGap:
    """How far packed and single sequences are apart; log-probabilities in nats."""

    model: str
    dtype: str
    tokens: int
    """Tokens of responses that were compared."""
    largest: float
    mean: float
    tolerance: float
    mean_tolerance: float
    gradient: float
    """Relative difference of the gradients."""
    gradient_limit: float


@dataclass(frozen=True)
class AttentionGap:
    """How far the attention of packed rows is from its definition, computed in float64 with a mask."""

    kernel: str
    dtype: str
    head_dim: int
    largest: float
    mean: float
    limit: float


@dataclass(frozen=True)
class Exactness:
    """All comparisons."""

    packing: list[PackingGap]
    attention: list[AttentionGap]


def check(setting: Setting) -> Outcome:
    """Compare in float32 and bfloat16."""
    attention = [attention_gap(setting, dtype, head_dim) for dtype in PRECISIONS for head_dim in (48, 128)]
    packing = []
    for name, layers in ((BASE_MODEL, None), ("tiny", None) if setting.is_tiny else ("qwen3-vl-2b", 6)):
        for dtype in PRECISIONS:
            vlm = model_named(name, setting, dtype, layers)
            packing.append(packing_gap(name, dtype, vlm))
            del vlm
            free_memory(setting.device)
            say(f"exactness: {packing[-1]}")
    return Outcome(Exactness(packing, attention), [*packing_reasons(packing), *attention_reasons(attention)])


def packing_reasons(gaps: list[PackingGap]) -> list[str]:
    """A sentence for each limit that packing exceeds."""
    reasons = []
    for gap in gaps:
        where = f"{gap.model} in {gap.dtype}"
        if not gap.largest <= gap.tolerance:  # True for NaN
            reasons.append(f"{where}: packed and single sequences differ by {gap.largest:.2e} nats on a token")
        if not gap.mean <= gap.mean_tolerance:
            reasons.append(f"{where}: packed and single sequences differ by {gap.mean:.2e} nats on average")
        if not gap.gradient <= gap.gradient_limit:
            reasons.append(f"{where}: packed and single gradients differ by {gap.gradient:.2%}")
    return reasons


def attention_reasons(gaps: list[AttentionGap]) -> list[str]:
    """A sentence for each limit that attention exceeds."""
    return [
        f"attention by {gap.kernel} in {gap.dtype}, heads of {gap.head_dim}: wrong by {gap.largest:.2e}"
        for gap in gaps
        if not gap.largest <= gap.limit
    ]


def model_named(name: str, setting: Setting, dtype: str, layers: int | None = None) -> VLM:
    """The small base of this repository, or a model with random weights."""
    if name == BASE_MODEL:
        params = ModelParams.model_validate(
            {"base": TOKENIZER, "judge_base": TOKENIZER, "dtype": dtype, "device": setting.device}
        )
        vlm = VLM.load(TOKENIZER, params)
        vlm.freeze_vision()
        return vlm
    return random_model(name, setting.device, layers, PRECISIONS[dtype])


def packing_gap(name: str, dtype: str, vlm: VLM) -> PackingGap:
    """Compare the turns of a generated trajectory, whose prompts share their beginnings."""
    encoder = Encoder(vlm)
    samples = trajectory(encoder, 5, SHAPES["tiny" if name == BASE_MODEL else name])
    packed, packed_gradient = with_gradient(vlm, encoder, samples, response_logprobs)
    single, single_gradient = with_gradient(vlm, encoder, samples, naive_logprobs)
    gaps = (packed - single).abs()
    tolerances = vlm.tolerances
    difference = sum((p - s).square().sum().item() for p, s in zip(packed_gradient, single_gradient, strict=True))
    norm = sum(s.square().sum().item() for s in single_gradient)
    return PackingGap(
        name,
        dtype,
        len(gaps),
        gaps.max().item(),
        gaps.mean().item(),
        tolerances.packing,
        tolerances.mean_packing,
        (difference / norm) ** 0.5,
        GRADIENT_LIMITS[dtype],
    )


def with_gradient(
    vlm: VLM, encoder: Encoder, samples: list[Sample], compute: Logprobs
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Log-probabilities of all response tokens, and the gradient of their mean in float32, parameter by parameter."""
    vlm.model.zero_grad()
    logprobs = torch.cat(compute(vlm, encoder, samples))
    logprobs.mean().backward()
    gradient = [parameter.grad.float() for parameter in vlm.trainable() if parameter.grad is not None]
    vlm.model.zero_grad()
    return logprobs.detach().double(), gradient


def attention_gap(setting: Setting, dtype: str, head_dim: int) -> AttentionGap:
    """Compare one call on random queries, keys and values: eight heads, of which two share keys and values, and a row
    of segments that continue others. The mask of the last one is a view that begins at an odd place."""
    long = 32 if setting.is_tiny else 512
    segments = Segments(
        [
            Segment(0, 3 * long),
            Segment(3 * long, 4 * long, ((0, 3 * long),)),
            Segment(4 * long, 4 * long + 7, ((0, long), (3 * long, 4 * long))),
            Segment(4 * long + 7, 5 * long, ((0, 2 * long),)),
            Segment(5 * long, 5 * long + 9, ((0, 7),)),
        ]
    )
    generator = torch.Generator().manual_seed(head_dim)
    query, key, value = (
        torch.randn(1, heads, 5 * long + 9, head_dim, generator=generator).to(setting.device, PRECISIONS[dtype].weights)
        for heads in (8, 4, 4)
    )
    scaling = head_dim**-0.5
    output, _ = segmented_attention(torch.nn.Module(), query, key, value, None, scaling=scaling, segments=segments)
    scores = query.double() @ key.double().repeat_interleave(2, dim=1).transpose(2, 3) * scaling
    weights = scores.masked_fill(~dense_mask(segments).to(setting.device), -torch.inf).softmax(-1)
    expected = (weights @ value.double().repeat_interleave(2, dim=1)).transpose(1, 2)
    gaps = (output.double() - expected).abs()
    kernel = "varlen_attn" if setting.device == "cuda" and dtype == "bfloat16" else "scaled_dot_product_attention"
    return AttentionGap(kernel, dtype, head_dim, gaps.max().item(), gaps.mean().item(), ATTENTION_LIMITS[dtype])
