"""Which stage keeps what on which devices, and the memory at the peak of each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from components.architecture import architecture_of
from components.params import Params, TrainingParams
from components.plan import sft_policy
from components.plan.distilled_judge import judge_length, judge_rows, served_judge
from components.plan.hardware import GIB, Device
from components.plan.image_cache import cache_parts
from components.plan.memory import (
    MemoryPlan,
    Part,
    Training,
    cache_part,
    pass_tokens,
    resident_parts,
    server_parts,
    trainer_parts,
    with_context,
)
from components.worlds import World, worlds_of

SLEEPING_SERVER = 2 * GIB
"""GPU memory of a server that sleeps: its context and graphs. An assumption: on an H200, a server without graphs and
its trainer, both with a model of 3M parameters, had 1.4 to 2.6 GiB together."""


@dataclass(frozen=True)
class Machine:
    """The devices of a run."""

    device: Device
    count: int


def devices_of(params: Params) -> int:
    """Number of devices that the recipe asks for: those of the trainer and those of the servers that it starts."""
    if params.model.device == "cpu":
        return 1
    vllm, judge = params.inference.vllm, served_judge(params)
    ends = [params.training.processes]
    if params.inference.engine == "vllm" and not vllm.urls:
        ends.append(vllm.gpus.stop)
    if judge is not None and not judge.urls:
        ends.append(judge.gpus.stop)
    return max(ends)


def server_is_beside_trainer(params: Params, device: Device) -> bool:
    """Whether a vLLM server that the run starts has a GPU of the trainer."""
    vllm, is_served = params.inference.vllm, params.inference.engine == "vllm"
    return is_served and not vllm.urls and not device.is_cpu and vllm.first_gpu < params.training.processes


def memory_plans(params: Params, machine: Machine) -> list[MemoryPlan]:
    """The peak of each training stage on a device of the trainer, and that of a server."""
    device, is_local = machine.device, params.inference.engine == "transformers"
    policy, judge = architecture_of(params.model.base), architecture_of(params.model.judge_base)
    longest = params.agent.max_context_tokens
    objective = params.rl.objective
    trainings = [
        Training("train_sft", policy, pass_tokens(params.sft, longest)),
        Training("distill_judge", judge, pass_tokens(params.judge.distill.optim, judge_length(params))),
        Training(
            "train_rl",
            policy,
            pass_tokens(params.rl.micro_batch_tokens, longest),
            objective.needs_reference,
            objective.refers_to_sft,
        ),
    ]
    shared = asleep = 0.0
    plans = []
    if (servers := served_judge(params)) is not None:
        parts, capacity, _ = server_parts(judge, servers, params, device)
        count = servers.count * (1 if device.is_cpu else servers.gpus_per_server)
        plans.append(MemoryPlan("judge's server", "judging", count, capacity, tuple(parts)))
    if not is_local:
        vllm = params.inference.vllm
        parts, capacity, _ = server_parts(policy, vllm, params, device)
        count = vllm.count * (1 if device.is_cpu else vllm.gpus_per_server)
        plans.append(MemoryPlan("server", "rollouts", count, capacity, tuple(parts)))
        shared = capacity if server_is_beside_trainer(params, device) else 0.0
        if not vllm.urls and device.is_cpu:
            shared = sum(part.bytes for part in parts) * vllm.servers
        asleep = min(shared, SLEEPING_SERVER) if vllm.sleeps else shared
    for training in trainings:
        in_use = asleep if training.stage == "train_rl" else 0.0  # servers end with the stage that started them
        parts = trainer_parts(training, params) + cache_parts(params, device, training.stage)
        if training.stage == "train_rl":
            parts += _judge_weights(params)
        plans.append(_trainer_plan(f"{training.stage}, update", parts, machine, params, in_use))
    plans.append(_trainer_plan("distill_judge, judging", _judging(params, device), machine, params, 0.0))
    plans.append(_trainer_plan("train_rl, rollouts", _rollout_parts(params, device), machine, params, shared))
    if params.judge.reward == "distilled" and (retrain := params.judge.distill.retrain) is not None:
        training = Training("distill_judge", judge, pass_tokens(retrain.optim, judge_length(params)))
        alone = params.model_copy(update={"training": TrainingParams()})
        parts = [
            *resident_parts(policy, params, objective.needs_reference, objective.refers_to_sft),
            *_judge_weights(params),
            *(replace(part, name=f"judge's {part.name}") for part in trainer_parts(training, alone)),
            *cache_parts(params, device, "train_rl"),
        ]
        plans.append(_trainer_plan("train_rl, judge training", parts, machine, params, asleep))
    if sft_policy.is_loaded(params):
        plans.append(_trainer_plan(sft_policy.STAGE, _kl_parts(params, device), machine, params, asleep))
    return plans


def _trainer_plan(stage: str, parts: list[Part], machine: Machine, params: Params, in_use: float) -> MemoryPlan:
    device, processes = machine.device, params.training.processes
    if device.is_cpu:  # all processes share the memory
        parts = [_times(part, processes) for part in parts] if processes > 1 else parts
        processes = 1
    open_pages = [browsers(params)] if device.is_cpu and stage.startswith("train_rl") else []
    return MemoryPlan("trainer", stage, processes, device.memory - in_use, (*with_context(parts, device), *open_pages))


def browsers(params: Params) -> Part:
    """The open episodes, as if all were of the world whose pages need most. Without a world, tasks are of the web."""
    mib = max((world.episode_mib for world in worlds_of(params)), default=World.episode_mib)
    count = params.browser.concurrency
    return Part("browsers", count * mib * 2**20, f"{count} episodes × {mib} MiB")


def _rollout_parts(params: Params, device: Device) -> list[Part]:
    """The trainer's process while episodes run: what it keeps, the policy's cache, and the distilled judge's."""
    policy, judge = architecture_of(params.model.base), architecture_of(params.model.judge_base)
    objective = params.rl.objective
    parts = resident_parts(policy, params, objective.needs_reference, objective.refers_to_sft) + _judge_weights(params)
    if params.inference.engine == "transformers":
        rows = 1 << (params.browser.concurrency - 1).bit_length()  # `RowCache` doubles its space
        parts.append(cache_part(policy, params, rows, params.agent.max_context_tokens))
    if params.judge.reward == "distilled" and served_judge(params) is None:
        parts.append(cache_part(judge, params, judge_rows(params), judge_length(params)))
    return [*parts, *cache_parts(params, device, "train_rl")]


def _kl_parts(params: Params, device: Device) -> list[Part]:
    """The trainer's process while it compares its policy with that of SFT, before an update."""
    policy, objective = architecture_of(params.model.base), params.rl.objective
    parts = resident_parts(policy, params, objective.needs_reference, objective.refers_to_sft) + _judge_weights(params)
    caches = [replace(part, name=sft_policy.CACHES) for part in cache_parts(params, device, sft_policy.STAGE)]
    return [*parts, *sft_policy.parts_of(policy, params), *cache_parts(params, device, "train_rl"), *caches]


def _judging(params: Params, device: Device) -> list[Part]:
    """The distilled judge on held-out trajectories."""
    judge = architecture_of(params.model.judge_base)
    weights = [part for part in resident_parts(judge, params) if part.name != "optimiser"]
    cache = cache_part(judge, params, judge_rows(params), judge_length(params))
    return [*weights, cache, *cache_parts(params, device, "distill_judge")]


def sequences_of(params: Params, device: Device) -> int:
    """Sequences of full length that the cache of one server holds."""
    return server_parts(architecture_of(params.model.base), params.inference.vllm, params, device)[2]


def _judge_weights(params: Params) -> list[Part]:
    """The distilled judge, which answers in the process of the trainer during RL."""
    if params.judge.reward != "distilled" or served_judge(params) is not None:
        return []
    judge = architecture_of(params.model.judge_base)
    word = 4 if params.model.dtype == "float32" else 2
    size = word * judge.parameters
    return [Part("distilled judge", size, f"{word} B × {judge.parameters / 1e9:.3g}e9, on the first device")]


def _times(part: Part, count: int) -> Part:
    return Part(part.name, part.bytes * count, f"{part.formula}, × {count} processes")


def shortage(plans: list[MemoryPlan], params: Params, machine: Machine) -> list[str]:
    """Why the recipe does not fit, one sentence for each role and stage; none if it fits."""
    needed = devices_of(params)
    reasons = []
    if needed > machine.count:
        reasons.append(f"the recipe asks for {needed} devices, and there are {machine.count}")
    reasons += [
        f"{plan.stage} needs {plan.needed / GIB:.1f} GiB on each device of the {plan.role}, which may use "
        f"{plan.capacity / GIB:.1f} GiB; the largest part is {max(plan.parts, key=lambda part: part.bytes).name}"
        for plan in plans
        if not plan.fits
    ]
    return reasons
