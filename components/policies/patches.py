"""The vision tower's first layer as one product: its kernels do not overlap, and a convolution takes six times as long.

Names: P patches, D values of a patch, C channels of the tower.
"""

from __future__ import annotations

from types import MethodType

import torch
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionPatchEmbed


def as_product(embed: Qwen3VLVisionPatchEmbed) -> None:
    """Compute a layer's convolution as a product from here on; its parameters and their names stay."""
    embed.forward = MethodType(_project, embed)


def _project(embed: Qwen3VLVisionPatchEmbed, patches_PD: torch.Tensor) -> torch.Tensor:
    """Features (P, C)."""
    weight = embed.proj.weight
    return torch.nn.functional.linear(patches_PD.to(weight.dtype), weight.flatten(1), embed.proj.bias)
