"""Lends the weights of a model on a GPU to another process on the same GPU (CUDA IPC).

The other process gets descriptions of the tensors, maps their memory and copies what it needs. vLLM's counterpart is
`engine/waymark_worker.py`.

All loans are of the same tensors, so that a loan needs no new memory: what another process has mapped is not free
before that process says so. Each loan exports them anew, because torch counts one release per export.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.multiprocessing.reductions import reduce_tensor

from components.model.vlm import VLM


class ServedWeights:
    """The weights of a model under the names and in the dtype in which `VLM.save` writes them. Tied weights occur once.

    The tensors are the model's own, except in mixed precision: then they are rounded copies, which need 2 bytes per
    parameter from the first call of `update` on.
    """

    def __init__(self, vlm: VLM) -> None:
        self._vlm = vlm
        self.tensors: dict[str, torch.Tensor] = {}

    @torch.no_grad()
    def update(self) -> None:
        """Bring the tensors up to date with the model."""
        tied, dtype = self._vlm.model.all_tied_weights_keys, self._vlm.compute_dtype
        for name, weight in self._vlm.model.state_dict().items():
            if name in tied:
                continue
            if dtype is None or weight.dtype == dtype:
                self.tensors[name] = weight.detach().contiguous()
            elif name in self.tensors:
                self.tensors[name].copy_(weight)
            else:
                self.tensors[name] = weight.detach().to(dtype).contiguous()


class WeightLender:
    """Lends the weights of a model in training."""

    def __init__(self, vlm: VLM) -> None:
        self._vlm = vlm
        self._weights = ServedWeights(vlm)

    @contextmanager
    def lend(self) -> Iterator[list[dict[str, Any]]]:
        """Yields descriptions of the present weights. The model must not change before the context ends.

        A description is a dict for JSON with `name`, `dtype`, `shape`, `gpu` (the GPU's UUID) and `handle` (arguments
        of torch's `rebuild_cuda_tensor`).

        Raises:
            ValueError: the model is not on a GPU.
        """
        device = self._vlm.model.device
        if device.type != "cuda":
            raise ValueError(f"the model is on the device {device}, and only a GPU's memory can be lent")
        self._weights.update()
        gpu = str(torch.cuda.get_device_properties(device).uuid)
        torch.cuda.synchronize(device)
        yield [_description(name, tensor, gpu) for name, tensor in self._weights.tensors.items()]


def _description(name: str, tensor: torch.Tensor, gpu: str) -> dict[str, Any]:
    _, arguments = reduce_tensor(tensor)
    *values, is_event_awaited = arguments[6:]
    del is_event_awaited  # the device has finished
    # The classes of tensor and storage, and the dtype, are no values for JSON: the receiver knows them.
    handle = [
        {"bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
        for value in (*arguments[1:4], *values, False)
    ]
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {"name": name, "dtype": dtype, "shape": list(tensor.shape), "gpu": gpu, "handle": handle}
