"""An extension of vLLM's workers (`worker_extension_cls`). Runs in vLLM's own environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

if TYPE_CHECKING:
    import torch


class LoadsWeights:
    """A mix-in for vLLM's worker."""

    if TYPE_CHECKING:  # vLLM refuses an extension that has a method of its worker
        # What the worker has.
        def reload_weights(self, weights_path: str) -> None:
            """Load weights from a directory."""

        def get_model(self) -> torch.nn.Module:
            """The model that the worker computes with."""

    def load_model_weights(self, path: str) -> None:
        """Replace the weights by those of a model directory.

        An output layer that is tied to the embeddings is not in the file. On a CPU, vLLM 0.32 computes with a packed
        copy of it, which its own reloading does not update: the output layer would still be the old model's.
        """
        self.reload_weights(weights_path=path)
        for layer in self.get_model().modules():
            if isinstance(layer, ParallelLMHead):
                layer.quant_method.process_weights_after_loading(layer)
