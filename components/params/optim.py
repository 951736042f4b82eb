"""The section of supervised training, and the tolerances that follow from the numeric type."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from components.params.section import NoEffect, Rounds, Section

Decay = Annotated[float, Field(ge=0, lt=1)]
"""A decay rate of Adam."""
DType = Literal["float32", "bfloat16"]
Shuffle = Literal["turns", "trajectories"]
"""The unit that an epoch shuffles."""


class Tolerances(NamedTuple):
    """Gaps in nats that rounding can cause."""

    packing: float
    """The gap between packed and single samples on a token."""
    mean_packing: float
    """The mean gap between packed and single samples over tokens."""
    logprob: float
    """The gap between trainer and rollout on a token. In bfloat16 it can be several nats on single tokens."""
    mean_logprob: float
    """The mean gap between trainer and rollout over tokens."""


TOLERANCES: dict[DType, Tolerances] = {
    "float32": Tolerances(packing=1e-4, mean_packing=1e-4, logprob=1e-3, mean_logprob=1e-4),
    "bfloat16": Tolerances(packing=1.0, mean_packing=0.05, logprob=5.0, mean_logprob=0.05),
}
"""The tolerances of a recipe that has null for them. In bfloat16, packed and single samples of the trained small model
are 0.06 to 0.19 nats apart on the worst token of eight turns and 0.017 on average; both are 0.04 from float32."""


class OptimParams(Section):
    """Supervised training."""

    epochs: Rounds = Field(gt=0)
    """Passes over the training data."""
    lr: float = Field(gt=0)
    """Highest learning rate of AdamW."""
    betas: tuple[Decay, Decay] = (0.9, 0.98)
    """Decay rates of AdamW's two moments."""
    batch_size: int = Field(gt=0)
    """Turn samples per optimiser step."""
    micro_batch_tokens: Annotated[int, NoEffect] = Field(default=8192, gt=0)
    """Tokens of the packed rows that one forward and backward pass takes; an optimiser step adds up as many passes as
    it needs."""
    max_packing_gap: Annotated[float | None, NoEffect] = Field(default=None, gt=0)
    """Packing is used if the gap between packed and single samples is at most this on each token, in nats. null follows
    from `model.dtype`: 1e-4 in float32; in bfloat16 1 on each token and 0.05 on average."""
    warmup: float = Field(default=0.1, ge=0, le=1)
    """Share of the steps with a linear warm-up. A cosine decay to 0 follows."""
    weight_decay: float = Field(default=0.0, ge=0)
    """AdamW's weight decay."""
    max_grad_norm: float = Field(default=1.0, gt=0)
    """Norm to which longer gradients are scaled down."""


class SFTParams(OptimParams):
    """Supervised training of the policy."""

    shuffle: Shuffle = "turns"
    """The unit that an epoch shuffles, also in RFT. `trajectories` is several times faster, because the turns of a
    trajectory share their history in a batch (`components/training/packing`); `turns` mixes the batches better."""
