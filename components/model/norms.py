"""RMSNorm of the language model in one kernel, wherever it computes in bfloat16.

Transformers' module takes six passes over the hidden states, in float32. With mixed precision its output is float32,
which each of the products behind it then rounds for itself. Here the squares are summed in float32 as well, and what is
returned is rounded once. On an H200, half of the time of a training step of Qwen3-VL-2B went into passes that are no
product and no attention (docs/results/gpu.md). In float32, transformers' own module is used.

Names: N tokens, C channels.
"""

from __future__ import annotations

from types import MethodType

import torch
from torch.nn.functional import rms_norm
from transformers import Qwen3VLForConditionalGeneration
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRMSNorm


def use_fused_norms(model: Qwen3VLForConditionalGeneration) -> None:
    """Replace the forward method of each norm of the language model, in place. Parameters and their names stay the
    same."""
    for module in model.model.language_model.modules():
        if isinstance(module, Qwen3VLTextRMSNorm):
            module.forward = MethodType(_normalized, module)  # type: ignore[method-assign]  # replaced on purpose


def _normalized(norm: Qwen3VLTextRMSNorm, hidden_NC: torch.Tensor) -> torch.Tensor:
    """Normalized hidden states (N, C), in the dtype of autocast if it is on."""
    device = hidden_NC.device.type
    is_mixed = torch.is_autocast_enabled(device)
    if not is_mixed and hidden_NC.dtype == torch.float32:
        return Qwen3VLTextRMSNorm.forward(norm, hidden_NC)
    weight_C = norm.weight.to(hidden_NC.dtype)
    with torch.autocast(device, enabled=False):
        normalized_NC = rms_norm(hidden_NC, weight_C.shape, weight_C, norm.variance_epsilon)
    return normalized_NC.to(torch.get_autocast_dtype(device)) if is_mixed else normalized_NC
