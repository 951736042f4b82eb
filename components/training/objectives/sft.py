"""Supervised training: behaviour cloning (OpenWebRL, section 4.2; WebAgent-R1, section 2.2; BrowserAgent, section 2.4).

    loss = - sum_i w_i sum_k log pi(y_ik | x_i, y_i<k)  /  sum_i w_i |y_i|

over the samples i of an optimiser step, one per turn: y_i is the response, x_i the serialized history before it, which
is conditioned on and not learned. Tokens count the same, whichever turn they are of; every w_i is 1. The loss of the
judge (`objectives.judge`) and of rejection fine-tuning (`objectives.rft`) is this one.

Deviation: WebAgent-R1's formula divides by the turns and not by their tokens, which scales a step's gradient and leaves
its direction. OpenWebRL and BrowserAgent give no formula.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch


def part_of_loss(logprobs: Sequence[torch.Tensor], weights: Sequence[float], total: float) -> torch.Tensor:
    """What some samples add to the loss of their step, in nats per token.

    Args:
        logprobs: of each sample's response, (T,).
        weights: one for each sample.
        total: the weights of all tokens of the step.
    """
    zero = torch.zeros((), device=logprobs[0].device)
    return -sum((weight * one.sum() for weight, one in zip(weights, logprobs, strict=True)), zero) / total
