"""Loading and saving a Qwen3-VL: model, tokenizer, image processor."""

from __future__ import annotations

import copy
import shutil
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase, Qwen3VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from components.params import LoRAParams, ModelParams
from components.policies.attention import SEGMENTED
from components.policies.lora import adapted_layers, add_adapter, merged_weights, save_adapter
from components.policies.patches import as_product
from components.policies.scoring import as_scorer
from components.store import publish, write_json


@dataclass(frozen=True)
class VLM:
    """A vision-language model and what turns text and images into its inputs."""

    model: Qwen3VLForConditionalGeneration
    tokenizer: PreTrainedTokenizerBase
    images: Qwen2VLImageProcessorPil
    computes_in: torch.dtype | None = None
    """What weights are rounded to in each product, if not computed with as they are."""

    def __post_init__(self) -> None:
        self.model.set_attn_implementation({"text_config": SEGMENTED})
        as_product(self.model.model.visual.patch_embed)
        as_scorer(self.model)

    @classmethod
    def load(cls, path: str | Path, params: ModelParams, train: bool = False) -> VLM:
        """Load from a directory or a Hugging Face name, without adapters: what `save` writes needs none.

        To `train` all weights in bfloat16, they are kept in float32 and rounded in each product (mixed precision): a
        step of RL is smaller than bfloat16 can tell. Beneath adapters they are bfloat16, as where nothing is trained.

        Raises:
            FileNotFoundError: a local directory (`data/…`, `models/…`, `./…`, `/…`) holds no model.
        """
        local = str(path).startswith(("data/", "models/", ".", "/"))
        if local and not (Path(path) / "config.json").exists():
            raise FileNotFoundError(f"no model at {path}; run the stage that makes it (`dvc repro`), or set model.base")
        # SDPA keeps CPU and GPU on one code path; the PIL processor needs no torchvision
        dtype = torch.float32 if params.dtype == "float32" else torch.bfloat16
        mixed = train and params.lora is None and dtype != torch.float32
        model = Qwen3VLForConditionalGeneration.from_pretrained(
            path, dtype=torch.float32 if mixed else dtype, attn_implementation="sdpa"
        )
        model.to(params.device)
        if params.gradient_checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        processors = AutoTokenizer.from_pretrained(path), Qwen2VLImageProcessorPil.from_pretrained(path)
        return cls(model, *processors, dtype if mixed else None)

    @classmethod
    def skeleton(cls, path: str | Path) -> VLM:
        """A model without weights, for what encodes and never computes."""
        with torch.device("meta"):
            model = Qwen3VLForConditionalGeneration(AutoConfig.from_pretrained(path))
        return cls(model, AutoTokenizer.from_pretrained(path), Qwen2VLImageProcessorPil.from_pretrained(path))

    def save(self, path: str | Path, state: dict[str, torch.Tensor] | None = None) -> None:
        """Write a directory that `load`, transformers and vLLM read.

        A model with adapters is written merged into a plain one, and the adapters by themselves to `adapter/`. `state`
        is the model's where it is not all in this process.
        """
        if self.has_lora:
            self.save_adapter(Path(path) / "adapter", state)
            state = merged_weights(self.model, state or self.model.state_dict())
        if self.computes_in is not None:
            whole = state or self.model.state_dict()
            state = {name: tensor.to(self.computes_in) for name, tensor in whole.items()}
        if state is not None:  # transformers knows a tied weight by its memory, which gathering and rounding copy
            tied = self.model.all_tied_weights_keys
            state = {name: tensor for name, tensor in state.items() if name not in tied}
        self.model.save_pretrained(path, state_dict=state)
        self.tokenizer.save_pretrained(path)
        self.images.save_pretrained(path)

    def save_adapter(self, path: str | Path, state: dict[str, torch.Tensor] | None = None) -> None:
        """Write the adapters of `add_lora` as PEFT does, for `PeftModel.from_pretrained` and vLLM, over the model that
        they were added to. `state` has them where they are not all in this process."""
        save_adapter(self.model, Path(path), state or self.model.state_dict())

    def publish(
        self, path: Path, beside: dict[str, object] | None = None, state: dict[str, torch.Tensor] | None = None
    ) -> None:
        """`save` in one step: readers see the old directory or the new one. `beside` are JSON files to add, by name."""
        partial = path.with_name(f".{path.name}.part")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        self.save(partial, state)
        for name, value in (beside or {}).items():
            write_json(partial / name, value)
        publish(partial, path)

    def frozen_copy(self) -> VLM:
        """The model as it is now, to compare with later. What is frozen is shared: memory goes to what is trained."""
        shared = {id(parameter): parameter for parameter in self.model.parameters() if not parameter.requires_grad}
        model = copy.deepcopy(self.model, shared).eval()
        model.requires_grad_(False)
        return VLM(model, self.tokenizer, self.images, self.computes_in)

    def prepare(self, params: ModelParams, seed: int, dropout: bool = True) -> None:
        """Make trainable what the recipe trains: adapters, or all weights but those of a frozen vision tower."""
        if params.lora is not None:
            self.add_lora(params.lora if dropout else params.lora.model_copy(update={"dropout": 0.0}), seed)
        if not params.train_vision:
            self.freeze_vision()

    def add_lora(self, params: LoRAParams, seed: int) -> None:
        """Train low-rank adapters in the language model, and nothing else. `seed` decides how they begin."""
        add_adapter(self.model, params, seed)

    @property
    def has_lora(self) -> bool:
        return bool(adapted_layers(self.model))

    def precision(self) -> AbstractContextManager[object]:
        """What every forward pass runs in."""
        if self.computes_in is None:
            return nullcontext()
        return torch.autocast(self.model.device.type, self.computes_in)

    def freeze_vision(self) -> None:
        """Take the vision tower out of training (OpenWebRL, section 4.2)."""
        self.model.model.visual.requires_grad_(False)

    def trainable(self) -> list[torch.nn.Parameter]:
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]
