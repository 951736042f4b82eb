"""Models and trajectories of `perf.packing` and `perf.gpu_check`: the published models, and smaller ones for a CPU.

The published shapes are those of `components/architectures.json`. The quarter model has a quarter of the widths
and of the sequence lengths of the 4B model, so that attention has the same share of the work as in the paper's agent.
The depth is smaller; vision tower and language model keep their proportion. The tiny model is for tests.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image as PILImage
from transformers import AutoModelForImageTextToText, AutoTokenizer, Qwen3VLConfig, Qwen3VLTextConfig
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from components.architecture import KNOWN
from components.model import VLM, Encoded, Encoder, Sample, Segments
from components.model.encoding import token_id
from components.records import Image

TOKENIZER = "data/base_model"
QUARTER_LAYERS, QUARTER_VISION_DEPTH = 3, 2
PUBLISHED = {f"qwen3-vl-{size}": f"Qwen/Qwen3-VL-{size.upper()}" for size in ("2b", "4b", "8b")}
"""Names of `SHAPES` and of `architectures.json`."""
_TEXT = {
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 5000000.0,
        "mrope_section": [24, 20, 20],
        "mrope_interleaved": True,
    },
}
"""What all published sizes have in common and a plan does not need."""


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
    "tiny": TrajectoryShape(system=40, screenshot=(96, 64), response=8, feedback=8),
    **dict.fromkeys(PUBLISHED, TrajectoryShape(system=1600, screenshot=(1280, 704), response=300, feedback=300)),
}
"""OpenWebRL, section 5.2, iteration 0: a response has 282 to 332 tokens, and a trajectory of 14.0 steps has 10,900.
This is the last turn's sequence if each turn adds 600 tokens, half of them feedback, URL and tabs."""


@dataclass(frozen=True)
class Precision:
    """How a model computes: the dtype of its weights, and of mixed precision the dtype to which products round them."""

    weights: torch.dtype
    compute: torch.dtype | None = None


FLOAT32, BFLOAT16 = Precision(torch.float32), Precision(torch.bfloat16)
MIXED = Precision(torch.float32, torch.bfloat16)
"""As `VLM.load` for training of all weights with `model.dtype: bfloat16`."""


def random_model(name: str, device: str, layers: int | None = None, precision: Precision | None = None) -> VLM:
    """A model with random weights and a frozen vision tower.

    Args:
        name: a key of `SHAPES`.
        layers: number of layers of the language model; None keeps the model's.
        precision: None is float32 for the small models on a CPU, and bfloat16 for all others.
    """
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
    config = Qwen3VLConfig(**_configuration(name, len(tokenizer)))
    marks = ("image_pad", "video_pad", "vision_start", "vision_end")
    ids = [token_id(tokenizer, f"<|{mark}|>") for mark in marks]
    config.image_token_id, config.video_token_id, config.vision_start_token_id, config.vision_end_token_id = ids
    if layers is not None:
        assert isinstance(config.text_config, Qwen3VLTextConfig)
        config.text_config.num_hidden_layers = layers
    if precision is None:
        precision = BFLOAT16 if device == "cuda" or name in PUBLISHED else FLOAT32
    with torch.device(device):
        model = AutoModelForImageTextToText.from_config(config, dtype=precision.weights, attn_implementation="sdpa")
    vlm = VLM(model, tokenizer, Qwen2VLImageProcessorPil.from_pretrained(TOKENIZER), precision.compute)
    vlm.freeze_vision()
    return vlm


def _configuration(name: str, vocabulary: int) -> dict[str, Any]:
    if name in PUBLISHED:
        return _published(PUBLISHED[name])
    return _tiny(vocabulary) if name == "tiny" else _quarter(vocabulary)


def _published(name: str) -> dict[str, Any]:
    """The configuration of a published model."""
    shape: dict[str, Any] = json.loads(KNOWN.read_text())[name]
    text = shape["text_config"] | _TEXT | {"tie_word_embeddings": shape["tie_word_embeddings"]}
    return shape | {"text_config": text}


def _quarter(vocabulary: int) -> dict[str, Any]:
    """The configuration of Qwen3-VL-4B with a quarter of each width and of the heads, and our small vocabulary."""
    whole = _published(PUBLISHED["qwen3-vl-4b"])
    text, vision = dict(whole["text_config"]), dict(whole["vision_config"])
    for part, widths in (
        (text, ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads")),
        (vision, ("hidden_size", "intermediate_size", "num_heads", "out_hidden_size")),
    ):
        part |= {width: part[width] // 4 for width in widths}
    text |= {"vocab_size": vocabulary, "num_hidden_layers": QUARTER_LAYERS}
    vision |= {"depth": QUARTER_VISION_DEPTH, "deepstack_visual_indexes": [0, 1]}
    return whole | {"text_config": text, "vision_config": vision}


def _tiny(vocabulary: int) -> dict[str, Any]:
    """A configuration for tests: the quarter model with two layers and narrow ones."""
    quarter = _quarter(vocabulary)
    text = quarter["text_config"] | {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    vision = quarter["vision_config"] | {"hidden_size": 64, "intermediate_size": 128, "out_hidden_size": 64}
    return quarter | {"text_config": text, "vision_config": vision}


def trajectory(encoder: Encoder, turns: int, shapes: TrajectoryShape) -> list[Sample]:
    """The turns of a generated trajectory with random tokens and pixels."""
    rng = np.random.default_rng(turns)

    def words(count: int) -> list[int]:
        return rng.integers(20, 1000, count).tolist()

    history, samples = words(shapes.system), []
    start, end = encoder.tokens("<|vision_start|>"), encoder.tokens("<|vision_end|>")
    for _ in range(turns):
        out = io.BytesIO()
        width, height = shapes.screenshot
        pixels = rng.integers(0, 255, (height // 4, width // 4, 3), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
        PILImage.fromarray(pixels).save(out, "PNG")  # as large as that of a page: noise would be 16 times as large
        image = Image.of(out.getvalue())
        pads = [encoder.image_token_id] * encoder.vision.tokens(image)
        response = words(shapes.response)
        samples.append(Sample(Encoded([*history, *start, *pads, *end], [image]), response))
        history = [*history, *response, *words(shapes.feedback)]
    return samples


def training_flops(vlm: VLM, tokens: int, predicted: int) -> float:
    """Floating-point operations of a forward and backward pass of the language model: six per weight and token.

    That is two for each of the forward pass, the gradient of the activations and the gradient of the weights (Kaplan et
    al., 2020, arXiv:2001.08361, section 2.1). Frozen weights beneath adapters have no gradient: four per weight and
    token. The embedding look-up, the frozen vision tower and recomputation are not counted, nor is attention over the
    context (`attention_flops`).

    Args:
        tokens: tokens of all rows.
        predicted: tokens of responses, the only ones for which the output layer runs.
    """
    language_model = vlm.model.model.language_model
    table = language_model.embed_tokens.weight
    layers = sum(_flops(parameter) for parameter in language_model.parameters() if parameter is not table)
    return layers * tokens + _flops(vlm.model.lm_head.weight) * predicted


def attention_flops(vlm: VLM, rows: Iterable[Segments]) -> float:
    """Floating-point operations of attention in a forward and backward pass of the language model: twelve per layer,
    pair of tokens and channel of the queries (PaLM: Chowdhery et al., 2022, arXiv:2204.02311, appendix B).

    Only pairs that are computed count: tokens attend to those before them in their own sequence.
    """
    text = vlm.model.config.text_config
    assert isinstance(text, Qwen3VLTextConfig)
    pairs = sum(
        length * (size - length) + length * (length + 1) / 2
        for segments in rows
        for length, size in zip(segments.lengths, segments.sizes, strict=True)
    )
    return 12.0 * text.num_hidden_layers * text.num_attention_heads * text.head_dim * pairs


def _flops(weight: torch.Tensor) -> float:
    """Operations per token of a weight in both passes."""
    return (6.0 if weight.requires_grad else 4.0) * weight.numel()
