"""Loads and saves a Qwen3-VL: model, tokenizer, image processor."""

from __future__ import annotations

import copy
import shutil
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase, Qwen3VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from components.model.attention import SEGMENTED
from components.model.lora import adapted_layers, add_adapter, merged_weights, save_adapter, without_adapters
from components.model.norms import use_fused_norms
from components.model.patch_embedding import use_matrix_product
from components.model.scoring import add_token_logprobs
from components.params import TOLERANCES, LoRAParams, ModelParams, Tolerances
from components.store import publish, write_json


def generate(
    model: Qwen3VLForConditionalGeneration, inputs: dict[str, torch.Tensor], **settings: object
) -> torch.Tensor:
    """Transformers' own generation: ids of prompts and answers (B, L). Policies use `policies.generation`."""
    # transformers 5 declares the method for a protocol that no model meets, and no type for keyword arguments
    ids_BL = model.generate(**inputs, **settings)  # type: ignore[misc, arg-type]
    assert isinstance(ids_BL, torch.Tensor)
    return ids_BL


@dataclass(frozen=True)
class VLM:
    """A vision-language model with its tokenizer and image processor."""

    model: Qwen3VLForConditionalGeneration
    tokenizer: PreTrainedTokenizerBase
    images: Qwen2VLImageProcessorPil
    compute_dtype: torch.dtype | None = None
    """Mixed precision: the dtype to which weights are rounded in each product. None: they are used as they are."""

    def __post_init__(self) -> None:
        self.model.set_attn_implementation({"text_config": SEGMENTED})
        use_matrix_product(self.model.model.visual.patch_embed)
        use_fused_norms(self.model)
        add_token_logprobs(self.model)

    @classmethod
    def load(cls, path: str | Path, params: ModelParams, train: bool = False) -> VLM:
        """Load a model without adapters. Models that `save` wrote need none.

        Args:
            path: a directory or a Hugging Face name.
            train: load for training of all weights. With `dtype: bfloat16`, the weights are then kept in float32 and
                rounded in each product (mixed precision), because a step of RL is smaller than bfloat16 resolves.
                Frozen weights, as beneath adapters, are bfloat16.

        Raises:
            FileNotFoundError: a local directory (`data/…`, `models/…`, `./…`, `/…`) holds no model.
        """
        local = str(path).startswith(("data/", "models/", ".", "/"))
        if local and not (Path(path) / "config.json").exists():
            raise FileNotFoundError(
                f"no model at {path}; run the stage that makes it (`dvc repro`), or set model.base or model.judge_base"
            )
        # SDPA is the same code path on CPU and GPU; the PIL processor needs no torchvision
        dtype = torch.float32 if params.dtype == "float32" else torch.bfloat16
        mixed = train and params.lora is None and dtype != torch.float32
        model = Qwen3VLForConditionalGeneration.from_pretrained(
            path, dtype=torch.float32 if mixed else dtype, attn_implementation="sdpa"
        )
        model.to(params.device)  # type: ignore[arg-type]  # transformers wraps it and loses its signature
        if params.gradient_checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        processors = AutoTokenizer.from_pretrained(path), Qwen2VLImageProcessorPil.from_pretrained(path)
        return cls(model, *processors, dtype if mixed else None)

    @classmethod
    def without_weights(cls, path: str | Path) -> VLM:
        """A model without weights, which can encode prompts but not compute."""
        with torch.device("meta"):
            model = Qwen3VLForConditionalGeneration(AutoConfig.from_pretrained(path))
        return cls(model, AutoTokenizer.from_pretrained(path), Qwen2VLImageProcessorPil.from_pretrained(path))

    def save(self, path: str | Path, state: dict[str, torch.Tensor] | None = None) -> None:
        """Write a directory that `load`, transformers and vLLM read.

        A model with adapters is written merged; the adapters alone are written to `adapter/`.

        Args:
            state: the model's whole state, if the model is sharded over processes.
        """
        if self.has_lora:
            self.save_adapter(Path(path) / "adapter", state)
            state = merged_weights(self.model, state or self.model.state_dict())
        if self.compute_dtype is not None:
            whole = state or self.model.state_dict()
            state = {name: tensor.to(self.compute_dtype) for name, tensor in whole.items()}
        if (
            state is not None
        ):  # transformers finds tied weights by their memory, but gathering and rounding have copied them
            tied = self.model.all_tied_weights_keys
            state = {name: tensor for name, tensor in state.items() if name not in tied}
        self.model.save_pretrained(path, state_dict=state)
        if self.compute_dtype is not None:  # the model trains in float32, and what is written is rounded
            config = copy.deepcopy(self.model.config)
            parts: list[Any] = [config, config.text_config, config.vision_config]  # the last two have optional types
            for part in parts:
                part.dtype = self.compute_dtype
            config.save_pretrained(path)
        self.tokenizer.save_pretrained(path)
        self.images.save_pretrained(path)

    def save_adapter(self, path: str | Path, state: dict[str, torch.Tensor] | None = None) -> None:
        """Write the adapters in PEFT's format, for `PeftModel.from_pretrained` and vLLM.

        Args:
            state: a state with the adapters, if the model is sharded over processes.
        """
        save_adapter(self.model, Path(path), state or self.model.state_dict())

    def publish(
        self,
        path: Path,
        extra_files: dict[str, object] | None = None,
        state: dict[str, torch.Tensor] | None = None,
        tensors: dict[str, object] | None = None,
    ) -> None:
        """`save` atomically: readers see the old directory or the new one.

        Args:
            extra_files: JSON files to add, by name.
            state: the model's whole state, if the model is sharded over processes.
            tensors: files to add in torch's format, by name.
        """
        partial = path.with_name(f".{path.name}.part")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        self.save(partial, state)
        for name, value in (extra_files or {}).items():
            write_json(partial / name, value)
        for name, value in (tensors or {}).items():
            torch.save(value, partial / name)
        publish(partial, path)

    def frozen_copy(self) -> VLM:
        """A frozen copy of the model. It shares the frozen weights and copies only the trainable ones."""
        shared = {id(parameter): parameter for parameter in self.model.parameters() if not parameter.requires_grad}
        model = copy.deepcopy(self.model, shared).eval()
        model.requires_grad_(False)
        return VLM(model, self.tokenizer, self.images, self.compute_dtype)

    def share_frozen_tower(self, other: VLM) -> bool:
        """Use the vision tower's weights of another model in place of this model's equal ones, if both are frozen.

        Features of one model are then those of the other (`Vision.is_of`), and the tower is in memory once. A tower of
        another dtype keeps its own weights.

        Returns:
            whether the towers are frozen and equal, perhaps in another dtype.
        """
        own, others = self.model.model.visual, other.model.model.visual
        if any(parameter.requires_grad for tower in (own, others) for parameter in tower.parameters()):
            return False
        there = dict(others.named_parameters())
        here = dict(own.named_parameters())
        if here.keys() != there.keys() or not all(torch.equal(here[name], there[name]) for name in here):
            return False
        modules = dict(own.named_modules())
        for name, parameter in there.items():
            module, _, leaf = name.rpartition(".")
            if parameter.dtype == here[name].dtype:
                setattr(modules[module], leaf, parameter)
        return True

    def prepare(self, params: ModelParams, seed: int, dropout: bool = True) -> None:
        """Make the recipe's weights trainable: adapters, or all weights, perhaps without the vision tower.

        Args:
            seed: determines the adapters' first values.
            dropout: whether the adapters use the recipe's dropout.
        """
        if params.lora is not None:
            self.add_lora(params.lora if dropout else params.lora.model_copy(update={"dropout": 0.0}), seed)
        if not params.train_vision:
            self.freeze_vision()

    def add_lora(self, params: LoRAParams, seed: int) -> None:
        """Add low-rank adapters to the language model and freeze all other weights. `seed` determines their first
        values."""
        add_adapter(self.model, params, seed)

    @property
    def has_lora(self) -> bool:
        """Whether the model has adapters."""
        return bool(adapted_layers(self.model))

    def without_adapters(self) -> AbstractContextManager[None]:
        """The context in which the model computes as it did before `add_lora`."""
        return without_adapters(self.model)

    def precision(self) -> AbstractContextManager[object]:
        """The context for every forward pass: autocast with mixed precision."""
        if self.compute_dtype is None:
            return nullcontext()
        return torch.autocast(self.model.device.type, self.compute_dtype)

    @property
    def feature_dtype(self) -> torch.dtype:
        """The dtype of the vision tower's features."""
        return self.compute_dtype or self.model.dtype

    @property
    def tolerances(self) -> Tolerances:
        """Differences that rounding explains in the dtype of a forward pass."""
        return TOLERANCES["bfloat16" if self.feature_dtype == torch.bfloat16 else "float32"]

    def freeze_vision(self) -> None:
        """Freeze the vision tower (OpenWebRL, section 4.2)."""
        self.model.model.visual.requires_grad_(False)

    def trainable(self) -> list[torch.nn.Parameter]:
        """The parameters that are trained."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]
