"""One optimiser step, the same for every kind of training."""

from __future__ import annotations

import torch
from torch.distributed.tensor import DTensor

from components.policies import VLM


class Diverged(RuntimeError):
    """A gradient is not finite. The weights and the last checkpoint are those before the step."""


def optimizer_step(optimizer: torch.optim.Optimizer, vlm: VLM, max_grad_norm: float) -> float:
    """Clip the gradients to `max_grad_norm` over all trained parameters, step, clear them.

    Returns:
        The norm before clipping.

    Raises:
        Diverged: before the step, so that no weight becomes NaN.
    """
    total = torch.nn.utils.clip_grad_norm_(vlm.trainable(), max_grad_norm)
    norm = (total.full_tensor() if isinstance(total, DTensor) else total).item()
    if not norm < float("inf"):
        raise Diverged(f"the gradient's norm is {norm}: lower the learning rate, or look for what is not finite")
    optimizer.step()
    optimizer.zero_grad()
    return norm
