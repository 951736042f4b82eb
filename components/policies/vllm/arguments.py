"""The engine arguments of vLLM that follow from a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from components.params import ModelParams, VLLMParams

LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The ranks that vLLM can be started with. Adapters of smaller rank fit, too."""


@dataclass(frozen=True)
class ServerSettings:
    """What the servers of a stage have in common.

    Attributes:
        max_tokens: largest number of tokens of a prompt and its response together.
        max_images: largest number of images in a prompt.
    """

    model: ModelParams
    vllm: VLLMParams
    max_tokens: int
    max_images: int

    def engine(self, path: str, changes: bool = False) -> dict[str, Any]:
        """The engine arguments of a server that starts with a model.

        Args:
            path: the model's directory or Hugging Face name.
            changes: whether training will change the weights.
        """
        lora = self.model.lora
        ranks = [rank for rank in LORA_RANKS if lora is not None and rank >= lora.rank]
        return {
            "model": path,
            "dtype": self.model.dtype,
            "max_model_len": self.max_tokens,
            "limit_mm_per_prompt": {"image": self.max_images, "video": 0},
            "logprobs_mode": "processed_logprobs",  # of the distribution from which tokens are sampled
            "generation_config": "vllm",  # the recipe sets the sampling, not the model's directory
            "enable_prefix_caching": True,
            "worker_extension_cls": "waymark_worker.LoadsWeights",
            **({"tensor_parallel_size": self.vllm.gpus_per_server} if self.model.device == "cuda" else {}),
            **({"enable_sleep_mode": True} if changes and self.vllm.sleeps else {}),
            **({"weight_transfer_config": {"backend": "ipc"}} if changes and self.vllm.transfer == "ipc" else {}),
            **({"enable_lora": True, "max_lora_rank": ranks[0], "max_loras": 1} if ranks else {}),
            **self.vllm.engine,
        }
