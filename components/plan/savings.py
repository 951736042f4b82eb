"""Savings of memory that a plan tries on a recipe that does not fit, and the layouts of its devices.

Savings of level 0 cost time only. Those of higher levels change what is learnt: the further, the higher.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from components.architecture import architecture_of
from components.params import Params, TrustParams
from components.plan.distilled_judge import judge_length, served_judge
from components.plan.placement import Machine, server_is_beside_trainer

Settings = dict[str, Any]
"""Values by dotted key."""
MIN_CONTEXT = 4096
SHORT_VERDICT = 256
SMALL_POLICY, SMALL_JUDGE = "Qwen/Qwen3-VL-2B-Thinking", "Qwen/Qwen3-VL-2B-Instruct"
"""The smallest published models."""
BROWSERS = "browser.concurrency"
SLEEPS = "inference.vllm.sleeps"
JUDGE_SERVERS = "judge.distill.vllm"


@dataclass(frozen=True)
class Saving:
    """A way to save memory.

    Attributes:
        level: how much it changes.
        steps: how far it can be taken, the weakest step first.
    """

    level: int
    steps: tuple[Settings, ...]

    @property
    def is_of_browsers(self) -> bool:
        """Whether it takes fewer browsers."""
        return BROWSERS in self.steps[0]


def savings(params: Params, machine: Machine) -> list[Saving]:
    """The savings that a recipe does not have yet, the cheapest first."""
    free = [Saving(0, (*steps,)) for steps in _free_of_effect(params, machine) if steps]
    levels = count(1)
    return free + [Saving(next(levels), (*steps,)) for steps in _with_effect(params) if steps]


def layouts(params: Params, machine: Machine) -> Iterator[Settings]:
    """Divisions of the devices between trainer and servers: the recipe's own, the same in turns, then others. A judge
    with servers of its own keeps them on the last devices, or answers in the trainer's process."""
    yield {}
    if _could_sleep(params, machine):
        yield {SLEEPS: True}
    if machine.device.is_cpu:
        return
    for judge, devices in _places_of_the_judge(params, machine.count):
        if judge:
            yield judge
        for layout in _other_layouts(params, devices):
            yield {**judge, **layout}


def _free_of_effect(params: Params, machine: Machine) -> Iterator[list[Settings]]:
    """Steps that cost time and change no result but by rounding."""
    distill = params.judge.distill
    question = judge_length(params)
    yield [{"judge.distill.decoding_tokens": tokens} for tokens in _powers(distill.decoding_tokens, question)]
    for key, tokens in _micro_batches(params).items():
        longest = min(tokens, params.agent.max_context_tokens)
        first = [longest] if longest < tokens else []
        yield [{key: length} for length in (*first, *_halves(longest, MIN_CONTEXT))]
    if _could_sleep(params, machine):
        yield [{SLEEPS: True}]
    if params.training.processes > 1 and not params.training.shard and params.inference.engine == "vllm":
        yield [{"training.shard": True}]
    if machine.device.is_cpu or params.inference.engine == "transformers":
        yield [{BROWSERS: browsers} for browsers in _powers(params.browser.concurrency, 1)]
    if not params.model.gradient_checkpointing:
        yield [{"model.gradient_checkpointing": True}]


def _with_effect(params: Params) -> Iterator[list[Settings]]:
    """Steps that change what is learnt, those of one saving after those of another that changes less."""
    distill = params.judge.distill
    if distill.screenshots > 1 or distill.max_response_tokens > SHORT_VERDICT:
        short = {
            "judge.distill.screenshots": min(distill.screenshots, 1),
            "judge.distill.max_response_tokens": min(distill.max_response_tokens, SHORT_VERDICT),
        }
        yield [short]
    if params.model.lora is None and not params.model.train_vision:
        yield [{"model.lora": {"rank": 32, "alpha": 64}}]
    if _is_smaller(params.model.base, params.model.judge_base):
        yield [{"model.judge_base": params.model.base}]
    yield list(_shorter_contexts(params))
    if _is_smaller(SMALL_JUDGE, params.model.judge_base):
        yield [{"model.judge_base": SMALL_JUDGE}]
    small = SMALL_POLICY if params.model.think_prefix else SMALL_JUDGE
    if _is_smaller(small, params.model.base):
        yield [{"model.base": small}]
    if params.judge.reward == "distilled" and params.judge.model is not None:
        yield [{"judge.reward": "model", **_untrusted(params.judge.trust)}]


def _could_sleep(params: Params, machine: Machine) -> bool:
    """Whether a server beside the trainer could take turns with it and does not yet: awake, it may then use the memory
    that an update needs, and holds more sequences."""
    is_beside = server_is_beside_trainer(params, machine.device)
    return is_beside and not params.inference.vllm.sleeps and not params.rl.max_staleness


def _shorter_contexts(params: Params) -> Iterator[Settings]:
    shortest = max(MIN_CONTEXT, 2 * params.agent.max_response_tokens)
    for length in _halves(params.agent.max_context_tokens, shortest):
        response = params.evaluation.max_response_tokens
        limit = {"evaluation.max_response_tokens": length // 2} if response is not None and response >= length else {}
        yield {"agent.max_context_tokens": length, **limit}


def _powers(number: int, least: int) -> list[int]:
    """The powers of two below a number, the largest first; none is less than `least`."""
    highest = (number - 1).bit_length() - 1
    return [2**exponent for exponent in range(highest, -1, -1) if 2**exponent >= least]


def _halves(number: int, least: int) -> list[int]:
    """A half of a number, a quarter of it and so on; none is less than `least`."""
    halves = []
    while (number := number // 2) >= least:
        halves.append(number)
    return halves


def _untrusted(trust: TrustParams) -> Settings:
    """Settings with which a model may reward what it labels, and with which no share of rollouts is to be audited."""
    default, settings = TrustParams().audit_share, {"judge.trust.min_agreement": 0.0}
    return settings if trust.audit_share == default else settings | {"judge.trust.audit_share": default}


def _is_smaller(model: str, other: str) -> bool:
    return architecture_of(model).parameters < architecture_of(other).parameters


def _places_of_the_judge(params: Params, devices: int) -> Iterator[tuple[Settings, int]]:
    """Places of the distilled judge, and how many devices each leaves to the trainer and the policy's servers."""
    judge = served_judge(params)
    if judge is None or judge.urls:
        yield {}, devices
        return
    left = devices - len(judge.gpus)
    if left > 0:
        yield ({} if judge.first_gpu == left else {f"{JUDGE_SERVERS}.first_gpu": left}), left
    yield {JUDGE_SERVERS: None}, devices


def _other_layouts(params: Params, devices: int) -> Iterator[Settings]:
    vllm = params.inference.vllm
    if vllm.urls:  # all devices of this machine are the trainer's
        return
    if devices == 1:
        if params.inference.engine == "vllm" or params.training.processes > 1:
            alone = {"inference.engine": "transformers", "training.processes": 1, "training.shard": False}
            yield {**alone, SLEEPS: False, "inference.vllm.transfer": "disk"}
        yield from _in_turns(params, devices)
        return
    ways = vllm.gpus_per_server
    for processes in sorted({devices // 2, devices - ways}):
        servers = (devices - processes) // ways
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
    yield from _in_turns(params, devices)


def _in_turns(params: Params, devices: int) -> Iterator[Settings]:
    """All devices train, and serve while no update is computed. The servers' own devices would be idle meanwhile."""
    vllm = params.inference.vllm
    servers = devices // vllm.gpus_per_server
    is_new = (devices, 0, servers) != (params.training.processes, vllm.first_gpu, vllm.servers)
    if params.inference.engine == "vllm" and servers and is_new and not params.rl.max_staleness:
        yield {
            "training.processes": devices,
            "training.shard": devices > 1,
            "inference.vllm.first_gpu": 0,
            "inference.vllm.servers": servers,
            SLEEPS: True,
        }


def _micro_batches(params: Params) -> dict[str, int]:
    return {
        "sft.micro_batch_tokens": params.sft.micro_batch_tokens,
        "judge.distill.optim.micro_batch_tokens": params.judge.distill.optim.micro_batch_tokens,
        "rl.micro_batch_tokens": params.rl.micro_batch_tokens,
    }
