"""One optimiser step, the same for every kind of training."""

from __future__ import annotations

import itertools

import torch
from torch.distributed.tensor import DTensor

from components.model import VLM


class Diverged(RuntimeError):
    """A gradient is not finite. The weights and the last checkpoint are those before the step."""


def adamw(vlm: VLM, lr: float, betas: tuple[float, float], weight_decay: float) -> torch.optim.AdamW:
    """AdamW for all trained weights.

    On a GPU it is PyTorch's fused kernel: the default one holds a temporary copy of a moment of all weights, which is
    four bytes per weight at the peak of a step's memory.
    """
    is_on_gpu = vlm.model.device.type == "cuda"
    return torch.optim.AdamW(vlm.trainable(), lr=lr, betas=betas, weight_decay=weight_decay, fused=is_on_gpu or None)


def warm_up(optimizer: torch.optim.Optimizer, steps: int) -> None:
    """Let the learning rate grow linearly over the first `steps` steps of an Adam optimiser: step k has k/steps of it.

    The number of steps taken is in the optimiser's state, so a checkpoint that holds this state holds the warm-up, and
    an optimiser that another phase has warmed up stays warm.
    """
    if not steps:
        return
    rates = [group["lr"] for group in optimizer.param_groups]

    def scale(stepped: torch.optim.Optimizer, *_: object) -> None:
        taken = [int(state["step"]) for state in itertools.islice(stepped.state.values(), 1)]
        step = sum(taken) + 1
        for group, rate in zip(stepped.param_groups, rates, strict=True):
            if group["lr"]:  # torch takes a step with a rate of 0 to make a sharded optimiser's state
                group["lr"] = rate * min(1.0, step / steps)

    optimizer.register_step_pre_hook(scale)


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
    torch.autograd.graph.increment_version(vlm.trainable())  # fused AdamW does not; `Vision` looks at it
    optimizer.zero_grad()
    return norm
