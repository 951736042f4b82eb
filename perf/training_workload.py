"""Models and trajectories for `perf.packing`: the paper's agent for a GPU, and a quarter of it for two cores.

The quarter model has a quarter of the widths and of the sequence lengths, so that attention has the same share of the
work as in the paper's agent. The depth is smaller; vision tower and language model keep their proportion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoModelForImageTextToText, AutoTokenizer, Qwen3VLConfig, Qwen3VLTextConfig
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from components.model import VLM
from components.model.encoding import token_id

TOKENIZER = "data/base_model"
QUARTER_LAYERS, QUARTER_VISION_DEPTH = 3, 2
QWEN3_VL_4B: dict[str, Any] = {
    "text_config": {
        "vocab_size": 151936,
        "hidden_size": 2560,
        "intermediate_size": 9728,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 262144,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 5000000.0,
            "mrope_section": [24, 20, 20],
            "mrope_interleaved": True,
        },
        "tie_word_embeddings": True,
    },
    "vision_config": {
        "depth": 24,
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_heads": 16,
        "out_hidden_size": 2560,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "deepstack_visual_indexes": [5, 11, 17],
        "num_position_embeddings": 2304,
    },
    "tie_word_embeddings": True,
}
"""Qwen3-VL-4B's architecture, as published."""


@dataclass(frozen=True)
class TrajectoryShape:
    """Lengths in tokens of the system prompt, a response, and a turn's feedback, URL and tabs; the screenshot's width
    and height in pixels, of which 32 x 32 make a token."""

    system: int
    screenshot: tuple[int, int]
    response: int
    feedback: int


SHAPES = {
    "quarter": TrajectoryShape(system=400, screenshot=(640, 352), response=75, feedback=75),
    "qwen3-vl-4b": TrajectoryShape(system=1600, screenshot=(1280, 704), response=300, feedback=300),
}
"""OpenWebRL, section 5.2, iteration 0: a response has 282 to 332 tokens, and a trajectory of 14.0 steps has 10,900.
This is the last turn's sequence if each turn adds 600 tokens, half of them feedback, URL and tabs."""


def random_model(name: str, device: str, layers: int | None = None) -> VLM:
    """A model with random weights: the quarter model on a CPU in float32, all others in bfloat16.

    Args:
        name: a key of `SHAPES`.
        layers: number of layers of the language model; None keeps the model's.
    """
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
    config = Qwen3VLConfig(**(QWEN3_VL_4B if name == "qwen3-vl-4b" else _quarter(len(tokenizer))))
    marks = ("image_pad", "video_pad", "vision_start", "vision_end")
    ids = [token_id(tokenizer, f"<|{mark}|>") for mark in marks]
    config.image_token_id, config.video_token_id, config.vision_start_token_id, config.vision_end_token_id = ids
    if layers is not None:
        assert isinstance(config.text_config, Qwen3VLTextConfig)
        config.text_config.num_hidden_layers = layers
    dtype = torch.bfloat16 if device == "cuda" or name == "qwen3-vl-4b" else torch.float32
    with torch.device(device):
        model = AutoModelForImageTextToText.from_config(config, dtype=dtype, attn_implementation="sdpa")
    vlm = VLM(model, tokenizer, Qwen2VLImageProcessorPil.from_pretrained(TOKENIZER))
    vlm.freeze_vision()
    return vlm


def _quarter(vocabulary: int) -> dict[str, Any]:
    """The configuration of Qwen3-VL-4B with a quarter of each width and of the heads, and our small vocabulary."""
    text, vision = dict(QWEN3_VL_4B["text_config"]), dict(QWEN3_VL_4B["vision_config"])
    for part, widths in (
        (text, ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads")),
        (vision, ("hidden_size", "intermediate_size", "num_heads", "out_hidden_size")),
    ):
        part |= {width: part[width] // 4 for width in widths}
    text |= {"vocab_size": vocabulary, "num_hidden_layers": QUARTER_LAYERS}
    vision |= {"depth": QUARTER_VISION_DEPTH, "deepstack_visual_indexes": [0, 1]}
    return QWEN3_VL_4B | {"text_config": text, "vision_config": vision}


def training_flops(vlm: VLM, tokens: int, predicted: int) -> float:
    """Floating-point operations of a forward and backward pass of the language model: six per weight and token.

    The embedding look-up, the frozen vision tower and attention over the context are not counted, as is common.

    Args:
        tokens: tokens of all rows.
        predicted: tokens of responses, the only ones for which the output layer runs.
    """
    language_model = vlm.model.model.language_model
    layers = sum(parameter.numel() for parameter in language_model.parameters())
    layers -= language_model.embed_tokens.weight.numel()
    return 6.0 * (layers * tokens + vlm.model.lm_head.weight.numel() * predicted)
