"""What autograd really saves in this repository's model is what the plan counts."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from components.plan.architecture import Architecture
from components.plan.memory import MAX_LOGITS, saved_bytes

CONFIG = json.loads(Path("data/base_model/config.json").read_text())
TOKENS = 128


def shape(layers: int, sizes: tuple[int, int, int, int, int]) -> dict:
    """A configuration with hidden size, heads, key heads, head size and inner size."""
    hidden, heads, keys, head, inner = sizes
    text = CONFIG["text_config"] | {
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": keys,
        "head_dim": head,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
    }
    text["rope_parameters"] = text["rope_parameters"] | {"mrope_section": [8, 8, head // 2 - 16]}
    return CONFIG | {"text_config": text, "vision_config": CONFIG["vision_config"] | {"out_hidden_size": hidden}}


def measured(config: dict, mixed: bool, checkpointing: bool = False) -> tuple[int, int]:
    """Bytes that a forward pass saves for the backward pass, and the bytes of its rounded weights."""
    import torch
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    from components.model.attention import SEGMENTED, Segment, Segments

    model = Qwen3VLForConditionalGeneration(Qwen3VLConfig(**config))
    model.set_attn_implementation({"text_config": SEGMENTED})
    if checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()
    matrices = {(side, other) for p in model.parameters() if p.dim() == 2 for side, other in (p.shape, p.shape[::-1])}
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    precision = torch.autocast("cpu", torch.bfloat16) if mixed else contextlib.nullcontext()
    with precision, torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.model(
            input_ids=torch.arange(10, 10 + TOKENS)[None],
            position_ids=torch.arange(TOKENS)[None, None].expand(3, 1, -1),
            segments=Segments([Segment(0, TOKENS)]),
            use_cache=False,
        )
    saved = {tensor.untyped_storage().data_ptr(): tensor for tensor in kept}
    own = [tensor for pointer, tensor in saved.items() if pointer not in weights]
    rounded = [tensor for tensor in own if tensor.dtype == torch.bfloat16 and tuple(tensor.shape) in matrices]
    total = sum(tensor.untyped_storage().nbytes() for tensor in own)
    return total, sum(tensor.untyped_storage().nbytes() for tensor in rounded)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("sizes", [(192, 4, 2, 48, 384), (256, 4, 1, 96, 1024), (320, 8, 4, 48, 576)])
def test_a_layer_saves_the_bytes_that_the_plan_counts(sizes, mixed):
    deep, shallow = (measured(shape(layers, sizes), mixed) for layers in (3, 1))
    architecture = Architecture.model_validate({**shape(1, sizes), "name": "measured"})
    text = architecture.text_config
    rounded = deep[1] - shallow[1]
    assert rounded == (2 * 2 * text.layer_matrices if mixed else 0)
    per_token = (deep[0] - shallow[0] - rounded) / 2 / TOKENS
    assert per_token == pytest.approx(saved_bytes(text, mixed), rel=0.01)


@pytest.mark.parametrize("mixed", [False, True])
def test_with_checkpointing_a_layer_saves_its_input_in_float32(mixed):
    sizes = (192, 4, 2, 48, 384)
    deep, shallow = (measured(shape(layers, sizes), mixed, checkpointing=True)[0] for layers in (3, 1))
    assert (deep - shallow) / 2 == 4 * 192 * TOKENS


def test_the_chunk_of_logits_is_that_of_the_model():
    from components.model import scoring

    assert scoring.MAX_LOGITS == MAX_LOGITS
