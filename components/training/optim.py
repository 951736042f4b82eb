"""One optimiser step, the same for every kind of training."""

from __future__ import annotations

import torch
from torch.distributed.tensor import DTensor

from components.model import VLM


class Diverged(RuntimeError):
    """A gradient is not finite. The weights and the last checkpoint are those before the step."""


def optimizer_step(optimizer: torch.optim.Optimizer, vlm: VLM, max_grad_norm: float) -> float:
    """Clip the gradients to a norm of `max_grad_norm` over all trained parameters, take a step, clear the gradients.

    Returns:
        The norm before clipping.

    Raises:
        Diverged: the norm is not finite; no step was taken, so no weight becomes NaN.
    """
    total = torch.nn.utils.clip_grad_norm_(vlm.trainable(), max_grad_norm)
    norm = (total.full_tensor() if isinstance(total, DTensor) else total).item()
    if not norm < float("inf"):
        raise Diverged(f"the norm of the gradient is {norm}: lower the learning rate, or find what is not finite")
    optimizer.step()
    optimizer.zero_grad()
    return norm
