"""What autograd really saves in this repository's model is what the plan counts."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import get_args

import pytest
import torch
from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

from components.architecture import Architecture
from components.model import norms, scoring, vision
from components.model.attention import SEGMENTED, Segment, Segments
from components.model.lora import add_adapter
from components.model.norms import use_fused_norms
from components.params import LoRAParams
from components.plan.memory import ENCODED_PATCHES, MAX_LOGITS, Precision, saved_bytes

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


class OneKernel(torch.autograd.Function):
    """RMSNorm that keeps what the GPU's kernel keeps: its input, and one number per token. A CPU has no such kernel."""

    @staticmethod
    def forward(ctx, states, shape, weight, eps):
        scale = torch.rsqrt(states.float().square().mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(states, weight, scale)
        return (states.float() * scale).to(states.dtype) * weight


def measured(config: dict, precision: Precision, checkpointing: bool = False) -> tuple[int, int]:
    """Bytes that a forward pass saves for the backward pass, and the bytes of its rounded weights."""
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    model = Qwen3VLForConditionalGeneration(Qwen3VLConfig(**config)).to(dtype)
    model.set_attn_implementation({"text_config": SEGMENTED})
    use_fused_norms(model)
    if precision == "bfloat16":
        model.requires_grad_(False)
        add_adapter(model, LoRAParams(rank=2, alpha=2.0), seed=0)
        model.enable_input_require_grads()  # as behind the adapters of an earlier layer
    if checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()
    matrices = {(side, other) for p in model.parameters() if p.dim() == 2 for side, other in (p.shape, p.shape[::-1])}
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    context = torch.autocast("cpu", torch.bfloat16) if precision == "mixed" else contextlib.nullcontext()
    with context, torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
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


@pytest.fixture(autouse=True)
def one_kernel(monkeypatch):
    monkeypatch.setattr(norms, "rms_norm", OneKernel.apply)


@pytest.mark.parametrize("precision", get_args(Precision))
@pytest.mark.parametrize("sizes", [(192, 4, 2, 48, 384), (256, 4, 1, 96, 1024), (320, 8, 4, 48, 576)])
def test_a_layer_saves_the_bytes_that_the_plan_counts(sizes, precision):
    deep, shallow = (measured(shape(layers, sizes), precision) for layers in (3, 1))
    architecture = Architecture.model_validate({**shape(1, sizes), "name": "measured"})
    text = architecture.text_config
    rounded = deep[1] - shallow[1]
    if precision != "bfloat16":  # the adapters' own small products, of rank 2, are among what has a matrix's shape
        assert rounded == (2 * 2 * text.layer_matrices if precision == "mixed" else 0)
    per_token = (deep[0] - shallow[0] - rounded) / 2 / TOKENS
    assert per_token == pytest.approx(saved_bytes(text, precision), rel=0.01)


@pytest.mark.parametrize("precision, width", [("float32", 4), ("mixed", 4), ("bfloat16", 2)])
def test_with_checkpointing_a_layer_saves_its_input(precision, width):
    sizes = (192, 4, 2, 48, 384)
    deep, shallow = (measured(shape(layers, sizes), precision, checkpointing=True)[0] for layers in (3, 1))
    assert (deep - shallow) / 2 == width * 192 * TOKENS


def test_chunks_of_logits_and_batches_of_images_are_the_models():
    assert scoring.MAX_LOGITS == MAX_LOGITS
    assert vision.ENCODED_PATCHES == ENCODED_PATCHES
