"""Low-rank adapters on the language model's linear layers (Hu et al., 2021, arXiv:2106.09685), by PEFT.

A layer computes W x + (alpha / rank) B A x. A and B are float32, whatever the dtype of W is, and are rounded to that of
x in each product, as all weights are in mixed precision. B starts at 0, so that new adapters do not change the model.
The vision tower, embeddings, norms and output layer get no adapters.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MethodType

import torch
from peft import LoraConfig, get_peft_model_state_dict, inject_adapter_in_model
from peft.tuners.lora import Linear
from safetensors.torch import save_file
from transformers import PreTrainedModel

from components.params import LoRAParams

ADAPTER = "default"
"""PEFT's name of the adapter, which saved files do not contain."""
TARGETS = r"model\.language_model\..*\.(q|k|v|o|gate|up|down)_proj"


def add_adapter(model: PreTrainedModel, params: LoRAParams, seed: int) -> None:
    """Add adapters to the model, in place, and freeze all other weights. `seed` determines A. No global random state
    changes."""
    config = LoraConfig(
        r=params.rank,
        lora_alpha=params.alpha,  # type: ignore[arg-type]  # PEFT computes with any number
        lora_dropout=params.dropout,
        target_modules=TARGETS,
        base_model_name_or_path=model.name_or_path,
    )
    with torch.random.fork_rng(devices=[]):  # PEFT samples on the CPU
        torch.default_generator.manual_seed(seed)
        inject_adapter_in_model(config, model, ADAPTER)
    for layer in adapted_layers(model).values():  # PEFT creates them in the model's dtype
        layer.lora_A.float()
        layer.lora_B.float()
        layer.cast_input_dtype_enabled = False  # PEFT would compute B A x in float32
        for product in (*layer.lora_A.values(), *layer.lora_B.values()):
            product.forward = MethodType(_rounded_product, product)


def _rounded_product(linear: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
    """The product with the weights, rounded to the dtype of x."""
    return torch.nn.functional.linear(x, linear.weight.to(x.dtype))


def adapted_layers(model: PreTrainedModel) -> dict[str, Linear]:
    """The layers with an adapter, by name; none in a plain model."""
    return {name: module for name, module in model.named_modules() if isinstance(module, Linear)}


@contextmanager
def without_adapters(model: PreTrainedModel) -> Iterator[None]:
    """Temporarily compute as the model did before it got adapters: their products count 0 times.

    PEFT's own switch freezes the adapters meanwhile, and FSDP keeps for good what it reads of them in its first pass.
    """
    layers = adapted_layers(model).values()
    scales = [layer.scaling[ADAPTER] for layer in layers]
    for layer in layers:
        layer.scaling[ADAPTER] = 0.0
    try:
        yield
    finally:
        for layer, scale in zip(layers, scales, strict=True):
            layer.scaling[ADAPTER] = scale


@torch.no_grad()
def merged_weights(model: PreTrainedModel, state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The state of an equivalent model without adapters: W + (alpha / rank) B A, added in float32.

    Args:
        state: the model's whole state.

    Returns:
        a state in which only the merged weights are new tensors, on the CPU. The model does not change.
    """
    weights = {
        name.replace(".base_layer.", "."): tensor
        for name, tensor in state.items()
        if ".lora_A." not in name and ".lora_B." not in name
    }
    for name, layer in adapted_layers(model).items():
        base, a, b = (
            state[f"{name}.{part}.weight"] for part in ("base_layer", f"lora_A.{ADAPTER}", f"lora_B.{ADAPTER}")
        )
        weights[f"{name}.weight"] = (base.float() + b @ a * layer.scaling[ADAPTER]).to(base.dtype).cpu()
    return weights


def save_adapter(model: PreTrainedModel, path: Path, state: dict[str, torch.Tensor]) -> None:
    """Write `adapter_config.json` and `adapter_model.safetensors`, as `PeftModel.save_pretrained` does.

    Args:
        state: contains the adapters; other entries are ignored.
    """
    path.mkdir(parents=True, exist_ok=True)
    config = copy.copy(model.peft_config[ADAPTER])
    config.inference_mode = True
    config.save_pretrained(str(path))
    adapters = get_peft_model_state_dict(model, state, adapter_name=ADAPTER, save_embedding_layers=False)
    weights = {f"base_model.model.{name}": tensor.cpu().contiguous() for name, tensor in adapters.items()}
    save_file(weights, path / "adapter_model.safetensors", metadata={"format": "pt"})
