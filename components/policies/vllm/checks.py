"""What a server by URL must be like before a stage uses it, and what to do where it is not."""

from __future__ import annotations

import importlib.metadata
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from components.params import ENGINE_WITHOUT_EFFECT
from components.policies.vllm.arguments import ServerSettings

LOCK = Path("requirements/vllm.txt")
EQUAL = ("dtype", "logprobs_mode", "generation_config")
"""Engine arguments that change responses."""
CHECKED_APART = frozenset(
    "model tokenizer served_model_name download_dir tensor_parallel_size enable_sleep_mode weight_transfer_config "
    "worker_extension_cls limit_mm_per_prompt enable_lora max_loras seed".split()
)
"""Engine arguments that a server may have beyond the stage's, because they are checked apart or set by Waymark."""
AT_LEAST = {"max_model_len": "agent.max_context_tokens", "max_lora_rank": "model.lora.rank"}
"""Engine arguments that limit requests, with the keys of the recipe that they follow from."""


class State(BaseModel):
    """What a server says about itself (`engine/waymark_network.py`)."""

    service: str
    boot: str
    versions: dict[str, str]
    engine: dict[str, Any]
    weights: str
    layout: str
    clock: int
    is_fixed: bool


@dataclass(frozen=True)
class Requirements:
    """What a stage needs.

    Attributes:
        versions: of the packages on which responses depend.
        engine: the arguments with which the stage would start a server itself.
        weights: the name of the weights; None if they come later, from training.
        layout: the shapes of the model's tensors.
        changes: whether the stage loads other weights as it goes.
    """

    versions: dict[str, str]
    settings: ServerSettings
    weights: str | None
    layout: str
    changes: bool


def required_versions(lock: Path = LOCK) -> dict[str, str]:
    """vLLM's version in its lock, and the trainer's transformers and Pillow, which prepare prompts and images.

    Raises:
        FileNotFoundError: the lock is not there.
    """
    if not lock.exists():
        raise FileNotFoundError(f"no {lock}: run Waymark in the directory of its repository")
    pin = re.search(r"^vllm==([^\s;+]+)", lock.read_text(), re.MULTILINE)
    if pin is None:
        raise FileNotFoundError(f"{lock} names no version of vllm: make it anew with `make lock`")
    own = {name: importlib.metadata.version(name) for name in ("transformers", "pillow")}
    return {"vllm": pin[1], **own}


def mismatches(state: State, requirements: Requirements) -> list[str]:
    """Where a server differs from what a stage needs, each with the fix; empty if nowhere."""
    return [
        *_versions(state, requirements.versions),
        *_engine(state, requirements.settings),
        *_weights(state, requirements),
    ]


def _versions(state: State, versions: dict[str, str]) -> list[str]:
    return [
        f"it has {name} {state.versions.get(name, 'of no version')}, and this stage needs {version}: install "
        "requirements/vllm.txt of this commit into the server's environment"
        for name, version in versions.items()
        if state.versions.get(name) != version
    ]


def _engine(state: State, settings: ServerSettings) -> list[str]:
    arguments, present = settings.engine(""), state.engine
    fix = "start it with `waymark serve` and this recipe"
    differences = [
        f"its engine argument {name} is {present.get(name)!r}, and the recipe's is {arguments[name]!r}: {fix}"
        for name in dict.fromkeys((*EQUAL, *settings.vllm.engine))
        if name not in AT_LEAST and present.get(name) != arguments[name]
    ]
    differences += [
        f"its {name} is {present.get(name)}, and {key} needs {arguments[name]}: {fix}"
        for name, key in AT_LEAST.items()
        if name in arguments and (present.get(name) or 0) < arguments[name]
    ]
    differences += [
        f"it was started with the engine argument {name} = {present[name]!r}, which the recipe does not set and which "
        f"may change responses: start it without, or set it in inference.vllm.engine; {fix}"
        for name in sorted(present.keys() - arguments.keys() - CHECKED_APART - ENGINE_WITHOUT_EFFECT - AT_LEAST.keys())
    ]
    images = (present.get("limit_mm_per_prompt") or {}).get("image", 1)
    if images < settings.max_images:
        differences.append(
            f"it takes {images} images in a prompt, and observation.screenshots needs {settings.max_images}: {fix}"
        )
    return differences


def _weights(state: State, requirements: Requirements) -> list[str]:
    if state.layout != requirements.layout:
        return [
            f"it serves {state.engine.get('model')}, whose tensors have other shapes than those of this stage's model: "
            "start it with the model that the recipe names in model.base"
        ]
    if not state.is_fixed:
        return []
    if requirements.changes:
        return ["it keeps the weights that it has, and RL changes them: start it without --fixed"]
    if state.weights != requirements.weights:
        needed = (requirements.weights or "")[:12]
        return [
            f"it keeps the weights {state.weights[:12]}, and this stage needs {needed}: start it with that model, or "
            "without --fixed, so that stages may load theirs"
        ]
    return []
