"""An extension of vLLM's workers (`worker_extension_cls`). Runs in vLLM's own environment."""

from __future__ import annotations

import base64
import gc
from typing import TYPE_CHECKING, Any

import torch
from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead


class LoadsWeights:
    """A mix-in for vLLM's worker."""

    if TYPE_CHECKING:  # vLLM refuses an extension that has a method of its worker
        # What the worker has.
        device: torch.device

        def reload_weights(self, weights_path: str) -> None:
            """Load weights from a directory."""

        def get_model(self) -> torch.nn.Module:
            """The model that the worker computes with."""

        def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
            """Make the interface for weights ready."""

        def start_weight_update(self) -> None:
            """Begin to replace the weights."""

        def update_weights(self, update_info: dict[str, Any]) -> None:
            """Replace some or all of them."""

        def finish_weight_update(self) -> None:
            """Compute with the new weights from now on."""

    def load_model_weights(self, path: str) -> None:
        """Replace the weights by those of a model directory.

        An output layer that is tied to the embeddings is not in the file. On a CPU, vLLM 0.32 computes with a packed
        copy of it, which its own reloading does not update: the output layer would still be the old model's.
        """
        self.reload_weights(weights_path=path)
        for layer in self.get_model().modules():
            if isinstance(layer, ParallelLMHead):
                layer.quant_method.process_weights_after_loading(layer)
        self._clear_deepstack()

    def copy_lent_weights(self, tensors: list[dict[str, Any]]) -> None:
        """Replace the weights by tensors in the memory of another process on this GPU (CUDA IPC).

        Args:
            tensors: descriptions that `components.model.lending` makes.

        Raises:
            ValueError: they are on another GPU.
        """
        gpu = str(torch.cuda.get_device_properties(self.device).uuid)
        if other := {tensor["gpu"] for tensor in tensors} - {gpu}:
            raise ValueError(f"the weights are on the GPU {min(other)}, and this server's GPU is {gpu}")
        self.init_weight_transfer_engine({})
        self.start_weight_update()
        self.update_weights(
            {
                "names": [tensor["name"] for tensor in tensors],
                "dtype_names": [tensor["dtype"] for tensor in tensors],
                "shapes": [tensor["shape"] for tensor in tensors],
                "ipc_handles": [{gpu: _arguments(tensor)} for tensor in tensors],
            }
        )
        self.finish_weight_update()
        torch.cuda.synchronize(self.device)
        self._clear_deepstack()
        gc.collect()  # what still refers to the other process's memory

    def _clear_deepstack(self) -> None:
        """Zero what is added to layers of rows without an image. A server that slept has lost it, because these tensors
        are not among the model's buffers."""
        for module in self.get_model().modules():
            for tensor in getattr(module, "deepstack_input_embeds", None) or ():
                tensor.zero_()


def _arguments(tensor: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of torch's `rebuild_cuda_tensor`."""
    size, stride, offset, *rest = [
        base64.b64decode(value["bytes"]) if isinstance(value, dict) else value for value in tensor["handle"]
    ]
    dtype = getattr(torch, tensor["dtype"])
    return (torch.Tensor, torch.Size(size), tuple(stride), offset, torch.storage.TypedStorage, dtype, *rest)
