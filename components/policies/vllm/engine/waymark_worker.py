"""What vLLM's workers learn from us (`worker_extension_cls`). Runs in vLLM's own environment."""

from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead


class TakesWeights:
    """Mixed into vLLM's worker."""

    def take_weights(self, path: str) -> None:
        """Load the weights of a model directory over those in use.

        An output layer that is tied to the embeddings is not in the file. On a CPU vLLM 0.32 computes with a packed
        copy of it, which its own reloading leaves as it was: answers would come half from the old model.
        """
        self.reload_weights(weights_path=path)
        for layer in self.get_model().modules():
            if isinstance(layer, ParallelLMHead):
                layer.quant_method.process_weights_after_loading(layer)
