"""A change of a recipe that makes it fit.

The changes are keys of the recipe that save memory or devices, in the order of what they cost. They are added one after
the other until the recipe fits; then each that is not needed is dropped again, the most expensive first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from components.params import Params, RecipeError, TrustParams, find, from_chain, read_chain
from components.params.inheritance import Layer
from components.params.loading import RECIPES
from components.params.recipe_file import ShallowLoader
from components.plan.architecture import architecture_of
from components.plan.placement import Machine, memory_plans, shortage

Settings = dict[str, Any]
"""Values by dotted key."""
MIN_CONTEXT = 4096
FEW_BROWSERS = 4
SHORT_VERDICT = 256
SMALL_POLICY, SMALL_JUDGE = "Qwen/Qwen3-VL-2B-Thinking", "Qwen/Qwen3-VL-2B-Instruct"
"""The smallest published models."""


def recipe_with(recipe: Path, settings: Mapping[str, Any]) -> Params:
    """A recipe with some keys replaced, validated.

    Args:
        settings: values by dotted key, such as `{"model.lora.rank": 16}`.

    Raises:
        RecipeError: the recipe or a value is wrong.
    """
    layers = [Layer(Path(f"--set {key}"), _nested(key, value)) for key, value in settings.items()]
    return from_chain([*reversed(layers), *read_chain(find(recipe), RECIPES)], Params)


def parsed_setting(text: str) -> tuple[str, Any]:
    """`key=value` with a value in YAML.

    Raises:
        ValueError: there is no key, or the value is no YAML.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not all(key.strip().split(".")):
        raise ValueError(text)
    try:
        return key.strip(), yaml.load(value, ShallowLoader)
    except yaml.YAMLError as error:
        raise ValueError(text) from error


def remedy(recipe: Path, settings: Mapping[str, Any], machine: Machine) -> Settings | None:
    """Changes with which the recipe fits, none of which can be left out; None if all of them do not suffice.

    Args:
        settings: what the user has set already. The changes come on top.
    """
    changes = list(_changes(recipe_with(recipe, settings), machine))
    kept: list[Settings] = []
    for change in changes:
        kept.append(change)
        if _fits(recipe, settings, kept, machine):
            break
    else:
        return None
    for change in reversed(kept[:-1]):
        fewer = [other for other in kept if other is not change]
        if _fits(recipe, settings, fewer, machine):
            kept = fewer
    return _merged(kept)


def _fits(recipe: Path, settings: Mapping[str, Any], changes: list[Settings], machine: Machine) -> bool:
    try:
        params = recipe_with(recipe, {**settings, **_merged(changes)})
    except RecipeError:  # two keys exclude each other until another change joins them
        return False
    return not shortage(memory_plans(params, machine), params, machine)


def _merged(changes: Iterable[Settings]) -> Settings:
    return {key: value for change in changes for key, value in change.items()}


def as_options(settings: Settings) -> str:
    """Settings as options of the command."""
    return " ".join(f"--set {key}={_flow(value)}" for key, value in settings.items())


def _changes(params: Params, machine: Machine) -> Iterator[Settings]:
    """Each change that the recipe does not have yet, the cheapest first."""
    if not machine.device.is_cpu:
        yield from _layouts(params, machine.count)
    longest = params.agent.max_context_tokens
    if any(tokens > longest for tokens in _micro_batches(params).values()):
        yield {key: min(tokens, longest) for key, tokens in _micro_batches(params).items()}
    if not params.model.gradient_checkpointing:
        yield {"model.gradient_checkpointing": True}
    if params.training.processes > 1 and not params.training.shard and params.inference.engine == "vllm":
        yield {"training.shard": True}
    is_local = machine.device.is_cpu or params.inference.engine == "transformers" or machine.count == 1
    if is_local and params.browser.concurrency > FEW_BROWSERS:
        yield {"browser.concurrency": FEW_BROWSERS}
    distill = params.judge.distill
    if distill.screenshots > 1 or distill.max_response_tokens > SHORT_VERDICT:
        yield {
            "judge.distill.screenshots": min(distill.screenshots, 1),
            "judge.distill.max_response_tokens": min(distill.max_response_tokens, SHORT_VERDICT),
        }
    if params.model.lora is None and not params.model.train_vision:
        yield {"model.lora": {"rank": 32, "alpha": 64}}
    if _is_smaller(params.model.base, params.model.judge_base):
        yield {"model.judge_base": params.model.base}
    yield from _shorter_contexts(params)
    if _is_smaller(SMALL_JUDGE, params.model.judge_base):
        yield {"model.judge_base": SMALL_JUDGE}
    small = SMALL_POLICY if params.model.think_prefix else SMALL_JUDGE
    if _is_smaller(small, params.model.base):
        yield {"model.base": small}
    if params.judge.reward == "distilled" and params.judge.model is not None:
        yield {"judge.reward": "model", **_untrusted(params.judge.trust)}


def _shorter_contexts(params: Params) -> Iterator[Settings]:
    length = params.agent.max_context_tokens // 2
    while length >= max(MIN_CONTEXT, 2 * params.agent.max_response_tokens):
        response = params.evaluation.max_response_tokens
        limit = {"evaluation.max_response_tokens": length // 2} if response is not None and response >= length else {}
        micro_batches = {key: min(tokens, length) for key, tokens in _micro_batches(params).items()}
        yield {"agent.max_context_tokens": length, **micro_batches, **limit}
        length //= 2


def _untrusted(trust: TrustParams) -> Settings:
    """Settings with which a model may reward what it labels, and with which no share of rollouts is to be audited."""
    default, settings = TrustParams().audit_share, {"judge.trust.min_agreement": 0.0}
    return settings if trust.audit_share == default else settings | {"judge.trust.audit_share": default}


def _is_smaller(model: str, other: str) -> bool:
    return architecture_of(model).parameters < architecture_of(other).parameters


def _layouts(params: Params, count: int) -> Iterator[Settings]:
    """Divisions of the devices between trainer and servers that differ from the recipe's."""
    vllm = params.inference.vllm
    if vllm.urls:  # all devices of this machine are the trainer's
        return
    if count == 1:
        if params.inference.engine == "vllm" or params.training.processes > 1:
            yield {"inference.engine": "transformers", "training.processes": 1, "training.shard": False}
        return
    ways = vllm.gpus_per_server
    for processes in sorted({count // 2, count - ways}):
        servers = (count - processes) // ways
        is_new = (processes, processes, servers) != (params.training.processes, vllm.first_gpu, vllm.servers)
        if processes < 1 or servers < 1 or not is_new:
            continue
        yield {
            "inference.engine": "vllm",
            "training.processes": processes,
            "training.shard": processes > 1,
            "inference.vllm.first_gpu": processes,
            "inference.vllm.servers": servers,
        }


def _micro_batches(params: Params) -> dict[str, int]:
    return {
        "sft.micro_batch_tokens": params.sft.micro_batch_tokens,
        "judge.distill.optim.micro_batch_tokens": params.judge.distill.optim.micro_batch_tokens,
        "rl.micro_batch_tokens": params.rl.micro_batch_tokens,
    }


def _nested(key: str, value: Any) -> dict[str, Any]:
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000).removesuffix("...\n").strip()
    return f"'{text}'" if " " in text else text
