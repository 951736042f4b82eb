"""What vLLM refuses before it serves a model: a division among GPUs, and prompts beyond the model's positions.

A server finds these only when it starts. The rules are those of vLLM 0.32:

- `ModelConfig.verify_with_parallel_config` wants the attention heads divided evenly. `QKVParallelLinear` divides the
  key-value heads, or copies each to the same number of GPUs if there are fewer of them.
- The other linear layers divide one of their widths, and `VocabParallelEmbedding` a vocabulary that is padded to a
  multiple of 64.
- The vision tower is divided like the language model, except with the engine argument `mm_encoder_tp_mode: data`.
- `_get_and_verify_max_len` wants `max_model_len` within `max_position_embeddings`, times the factor of a scaled rotary
  embedding, unless the environment variable `VLLM_ALLOW_LONG_MAX_MODEL_LEN` is set.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from components.architecture import Architecture, architecture_of
from components.params import Params, RecipeError, VLLMParams

PADDED_VOCABULARY = 64
ALLOWS_LONG = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"


@dataclass(frozen=True)
class ServedModel:
    """The servers of a section of a recipe.

    Attributes:
        section: the dotted key of `vllm`.
        model: directory or name of the model.
        tokens: of the longest prompt with its response.
        length: what `tokens` is, in keys of the recipe.
        beside_context: tokens of `tokens` that are not of `agent.max_context_tokens`.
    """

    section: str
    vllm: VLLMParams
    model: str
    tokens: int
    length: str
    beside_context: int = 0


def served_policy(params: Params) -> ServedModel:
    """The policy's servers."""
    context = params.agent.max_context_tokens
    return ServedModel("inference.vllm", params.inference.vllm, params.model.base, context, "agent.max_context_tokens")


def served_distilled_judge(params: Params, vllm: VLLMParams) -> ServedModel:
    """The distilled judge's servers, with the longest question as `components.judge.served.longest_question`, which a
    test compares; this module does not import torch."""
    answer = params.judge.distill.max_response_tokens
    length = "agent.max_context_tokens + judge.distill.max_response_tokens"
    tokens = params.agent.max_context_tokens + answer
    return ServedModel("judge.distill.vllm", vllm, params.model.judge_base, tokens, length, answer)


def started_servers(params: Params) -> Iterator[ServedModel]:
    """The servers that the stages of a recipe start."""
    if params.inference.engine == "vllm" and not params.inference.vllm.urls:
        yield served_policy(params)
    judge = params.judge.distill.vllm
    if params.judge.reward == "distilled" and judge is not None and not judge.urls:
        yield served_distilled_judge(params, judge)


def all_refusals(params: Params, root: Path = Path()) -> list[str]:
    """`refusals` of all servers that the stages of a recipe start."""
    return [line for served in started_servers(params) for line in refusals(params, served, root)]


def refusals(params: Params, served: ServedModel, root: Path = Path()) -> list[str]:
    """A sentence with the fix for each reason why vLLM will not start with this model; none for a model whose shape
    cannot be read here.

    Args:
        root: the folder to which the model's directory is relative.
    """
    try:
        architecture = architecture_of(served.model, root)
    except RecipeError:
        return []
    lines: list[str] = []
    if params.model.device == "cuda":  # on a CPU, servers get no tensor-parallel size
        lines += _division_refusals(served, architecture)
    return [*lines, *_length_refusals(served, architecture)]


def _division_refusals(served: ServedModel, architecture: Architecture) -> Iterator[str]:
    gpus = served.vllm.gpus_per_server
    splits_tower = served.vllm.engine.get("mm_encoder_tp_mode") != "data"
    if (part := _undivided(architecture, gpus, splits_tower)) is None:
        return
    heads = architecture.text_config.num_attention_heads
    sizes = [str(size) for size in range(1, heads + 1) if _undivided(architecture, size, splits_tower) is None]
    listed = " or ".join([", ".join(sizes[:-1]), sizes[-1]] if len(sizes) > 1 else sizes)
    yield (
        f"{served.section}.gpus_per_server = {gpus}: vLLM cannot divide {part} of {served.model} among {gpus} GPUs: "
        f"set it to {listed}"
    )


def _undivided(architecture: Architecture, gpus: int, splits_tower: bool) -> str | None:
    """The first part of a model that vLLM cannot divide among GPUs; None if it can divide all."""
    text, vision = architecture.text_config, architecture.vision_config
    if text.num_attention_heads % gpus:
        return f"the {text.num_attention_heads} attention heads"
    keys = text.num_key_value_heads
    if keys % gpus and gpus % keys:
        return f"the {keys} key-value heads"
    widths = {
        "inner channels": text.intermediate_size,
        "words of the padded vocabulary": math.ceil(text.vocab_size / PADDED_VOCABULARY) * PADDED_VOCABULARY,
    }
    if splits_tower:
        widths |= {
            "attention heads of the vision tower": vision.num_heads,
            "inner channels of the vision tower": vision.intermediate_size,
            "channels of the vision tower's merger": architecture.merged_width,
        }
    return next((f"the {width:,} {name}" for name, width in widths.items() if width % gpus), None)


def _length_refusals(served: ServedModel, architecture: Architecture) -> Iterator[str]:
    positions = architecture.text_config.positions
    is_allowed = os.environ.get(ALLOWS_LONG, "").strip().lower() in ("1", "true")
    if positions is None or served.tokens <= positions or is_allowed:
        return
    yield (
        f"{served.length} = {served.tokens}: {served.model} has {int(positions):,} positions, and vLLM does not start "
        f"with more: set agent.max_context_tokens to {int(positions) - served.beside_context} or less"
    )
