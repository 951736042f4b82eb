"""The machine's own memory (RAM) at the peak of each stage, beside GPUs or with the models in it.

What was read in the code: every process of a training loads the whole model before it goes to its GPU
(`VLM.load`); the main process gathers the whole state of a sharded model for checkpoints and servers
(`sharding.WHOLE`); the groups of an iteration are sent to all processes (`Replicas.run`). The rest is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from components.architecture import Architecture
from components.params import Params
from components.plan import sft_policy
from components.plan.checkpoint_size import OPTIMISER_BYTES, WEIGHT_BYTES, carries_optimiser, checkpoint_bytes
from components.plan.distilled_judge import served_judge
from components.plan.hardware import GIB
from components.plan.image_cache import ImageCache, image_caches
from components.plan.memory import CPU_CONTEXT, RESIDENT, MemoryPlan, Part, cache_part, precision_of
from components.plan.need import Need, certain, total
from components.plan.placement import browsers
from components.plan.setting import Setting
from components.plan.volumes import (
    curated_episodes,
    episode_size,
    iteration_episodes,
    judge_examples,
    rl_phases,
)

GPU_PROCESS = 3 * GIB
"""Python with torch and the libraries and buffers of CUDA."""
DRIVER_PROCESS = 0.4 * GIB
"""A stage without a model: Python with its packages, and Playwright's driver."""
SERVER_PROCESS = 5 * GIB
"""The processes of a vLLM server, for each of its GPUs: engine, workers, and buffers of images."""
TOKEN = 8
"""Bytes of a token id in a list. All lists share one object for each token (`Encoder._shared`)."""
ROW_GROUPS = 2 * 256 * 2**20
"""A row group of each of the two tables from which the judge learns (`store.BYTES_PER_GROUP`)."""
CACHES = "image caches"

MEMORY_ASSUMPTIONS = (
    f"beside GPUs, a process of a training takes {GPU_PROCESS / GIB:g} GiB of the machine's memory, and a vLLM server "
    f"{SERVER_PROCESS / GIB:g} GiB for each of its GPUs; neither was measured",
    "image caches are as full as the screenshots of the whole stage make them",
    "what else runs on the machine is left out: the pipeline, MLflow, a teacher's or a judge's own server, the servers "
    "of worlds, and the stage beside this one if two run at once",
)


@dataclass(frozen=True)
class HostMemory:
    """The machine's memory in one stage."""

    stage: str
    needs: tuple[Need, ...]

    @property
    def bytes(self) -> float:
        """All that is planned."""
        return total(self.needs)

    @property
    def certain(self) -> float:
        """What is needed whatever is assumed."""
        return certain(self.needs)


def host_memory(setting: Setting, memory: list[MemoryPlan]) -> list[HostMemory]:
    """The stages that need most.

    Args:
        memory: of the devices. On a processor they are the machine's memory.
    """
    on_cpu = setting.machine.device.is_cpu
    trainings = _on_cpu(setting, memory) if on_cpu else _beside_gpus(setting)
    rollouts = [_rollout_stage(setting, stage, memory) for stage in ("teacher_rollouts", "judge_rollouts", "evaluate")]
    return [*rollouts, *trainings]


def _on_cpu(setting: Setting, memory: list[MemoryPlan]) -> Iterator[HostMemory]:
    """The devices' plans, with what they leave out: full caches, training sets, trajectories."""
    for stage, data in (
        ("train_sft", _sft_data(setting)),
        ("distill_judge", _judge_data(setting)),
        ("train_rl", _rl_data(setting)),
    ):
        plans = [plan for plan in memory if plan.stage.partition(",")[0] == stage and plan.role == "trainer"]
        plan = max(plans, key=lambda plan: plan.needed)
        parts = [_of_part(part) for part in plan.parts if part.name != CACHES]
        if stage == "train_rl":
            parts += _served(setting, "train_rl", memory)
        yield HostMemory(stage, (*parts, *data, *_caches(setting, stage)))


def _beside_gpus(setting: Setting) -> Iterator[HostMemory]:
    """Each training when its processes load the model, and when it runs."""
    params = setting.params
    processes = params.training.processes
    context = Need(
        "processes", processes * GPU_PROCESS, f"{processes} × {GPU_PROCESS / GIB:g} GiB", ("training.processes",)
    )
    for stage, architecture, data in (
        ("train_sft", setting.policy, _sft_data(setting)),
        ("distill_judge", setting.judge, _judge_data(setting)),
        ("train_rl", setting.policy, _rl_data(setting)),
    ):
        yield HostMemory(f"{stage}, start", (context, *_loading(setting, architecture)))
        needs = [context, *data, *_caches(setting, stage), *_gathered(setting, stage, architecture)]
        if stage == "train_rl":
            needs += [*_browsers(params), *_served(setting, stage, []), *_caches_of_sft_policy(setting)]
        yield HostMemory(stage, (*needs,))


def _rollout_stage(setting: Setting, stage: str, memory: list[MemoryPlan]) -> HostMemory:
    """A stage that only rolls out. Its trajectories stay on disk, but those of an evaluation."""
    params, device = setting.params, setting.machine.device
    needs = [*_browsers(params)]
    if stage == "teacher_rollouts":
        return HostMemory(stage, (Need("process", DRIVER_PROCESS, "assumed"), *needs))
    needs.append(Need("process", CPU_CONTEXT if device.is_cpu else GPU_PROCESS, "assumed"))
    if params.inference.engine == "vllm":
        needs += _served(setting, stage, memory)
    elif device.is_cpu:
        word = 4 if params.model.dtype == "float32" else 2
        weights = word * setting.policy.parameters
        rows = 1 << (params.browser.concurrency - 1).bit_length()
        cache = cache_part(setting.policy, params, rows, params.agent.max_context_tokens)
        needs.append(Need("weights", weights, f"{word} B × {setting.policy.parameters / 1e9:.3g}e9", (), weights))
        needs.append(Need(cache.name, cache.bytes, cache.formula, ("browser.concurrency", "agent.max_context_tokens")))
    if stage == "evaluate":
        episodes = setting.counts()[0].evaluation
        size = episodes * episode_size(setting, "evaluate@sft", params.evaluation.max_steps, True).memory
        needs.append(Need("trajectories", size, f"{episodes:,} episodes with their screenshots"))
    return HostMemory(stage, (*needs,))


def _loading(setting: Setting, architecture: Architecture) -> list[Need]:
    """The model in float32, which each process loads before it goes to its GPU. A reference policy is loaded before,
    and gone by then.

    A random model of 221M parameters, whose file has bfloat16, took 4.0 bytes of each when it was loaded in float32
    (5.9 at the peak, with pages of its file), and 0.2 in bfloat16, because the file is mapped.
    """
    params, processes = setting.params, setting.params.training.processes
    if precision_of(params.model) == "bfloat16":
        return []
    size = processes * WEIGHT_BYTES * architecture.parameters
    formula = f"{processes} processes × {WEIGHT_BYTES} B × {architecture.parameters / 1e9:.3g}e9"
    return [Need("model while it is loaded", size, formula, ("training.processes",), size)]


def _gathered(setting: Setting, stage: str, architecture: Architecture) -> Iterator[Need]:
    """The whole state of a sharded model on the main process: for a checkpoint, or for servers and the published
    model."""
    params = setting.params
    if not (params.training.shard and params.training.processes > 1):
        return
    trained = setting.training(architecture).trained_parameters
    published = (WEIGHT_BYTES + 2) * architecture.parameters
    in_rl = stage == "train_rl"
    checkpoint = checkpoint_bytes(params, trained) if in_rl else (WEIGHT_BYTES + OPTIMISER_BYTES) * trained
    carried = OPTIMISER_BYTES * trained if in_rl and carries_optimiser(params) else 0
    size = max(checkpoint, published + carried)
    purpose = "for a checkpoint" if size == checkpoint else "with a rounded copy, when the model is published"
    formula = f"on the main process: weights and optimiser of {trained / 1e9:.3g}e9 trained, {purpose}"
    yield Need("gathered state", size, formula, (), WEIGHT_BYTES * trained)


def _sft_data(setting: Setting) -> list[Need]:
    """The trajectories of SFT and their samples, in every process."""
    processes, episodes = setting.params.training.processes, curated_episodes(setting)
    size = episode_size(setting, "teacher_rollouts", setting.params.teacher.max_steps)
    shape = setting.prompt_shape("teacher_rollouts")
    tokens = episodes * size.turns * shape.mean_length(size.turns)
    each = episodes * size.memory + TOKEN * tokens
    formula = f"{processes} × {episodes:,} trajectories with their screenshots, and token ids"
    return [Need("training set", processes * each, formula, ("curate.max_trajectories",))]


def _judge_data(setting: Setting) -> list[Need]:
    """The samples of the judge, in every process: token ids. Screenshots are on disk, but those of attempts that are
    shown with the task of another one."""
    params, processes = setting.params, setting.params.training.processes
    distill, examples = params.judge.distill, judge_examples(setting)
    mismatched = examples * distill.mismatched
    image = setting.judge.image_tokens(params.browser.viewport)
    size = episode_size(setting, "judge_rollouts", params.evaluation.max_steps)
    text = size.turns * (setting.prompt_shape("judge_rollouts").feedback + 20) + distill.max_response_tokens
    ids = TOKEN * (examples + mismatched) * (distill.screenshots * image + text)
    read = min(ROW_GROUPS, examples * size.memory)
    formula = f"{processes} × token ids of {examples + mismatched:,.0f} questions, and row groups of the tables"
    needs = [Need("training set", processes * (ids + read), formula, ("teacher.tasks", "judge.distill.rollout_tasks"))]
    if mismatched:
        held = processes * mismatched * size.memory
        words = f"{processes} × {mismatched:,.0f} attempts with the task of another one and all screenshots"
        needs.append(Need("mismatched attempts", held, words, ("judge.distill.mismatched",)))
    return needs


def _rl_data(setting: Setting) -> list[Need]:
    """The trajectories of an iteration: all of them on the main process, the effective groups on the others."""
    params, rl = setting.params, setting.params.rl
    most, words = 0.0, ""
    for name, phase in rl_phases(setting).items():
        stage = f"train_rl@{name}"
        episodes = iteration_episodes(setting, name)
        size = episode_size(setting, stage, phase.max_steps)
        tokens = size.turns * setting.prompt_shape(stage).mean_length(size.turns)
        effective = setting.rates.effective_share_of(stage) * episodes * (size.memory + TOKEN * tokens)
        all_of_them = (1 + rl.max_staleness) * episodes * size.memory
        held = all_of_them + params.training.processes * effective
        if held >= most:
            most, words = held, f"{episodes:,.0f} episodes with their screenshots, those of effective groups in each"
    keys = ("rl.max_sampled_groups", "rl.effective_groups")
    return [Need("trajectories", most, f"{words} process", keys)] if words else []


def _caches(setting: Setting, stage: str) -> list[Need]:
    """The image caches at the end of a stage."""
    gib = setting.params.model.image_cache.memory_gib
    caches = [cache for cache in image_caches(setting.params, setting.machine.device) if cache.stage == stage]
    size = sum(cache.processes * _filled(cache, screenshots_of(setting, stage)) for cache in caches)
    words = f"pixels and features, each at most {gib:g} GiB in {setting.params.training.processes} processes"
    return [Need(CACHES, size, words, ("model.image_cache.memory_gib",))] if size else []


def _caches_of_sft_policy(setting: Setting) -> list[Need]:
    """The image caches of the SFT policy while the KL to it is measured, if its vision tower is another one."""
    params, keys = setting.params, ("model.image_cache.memory_gib",)
    caches = [cache for cache in image_caches(params, setting.machine.device) if cache.stage == sft_policy.STAGE]
    words = f"pixels and features of the KL's images in {params.training.processes} processes"
    return [Need(sft_policy.CACHES, cache.processes * cache.bytes, words, keys) for cache in caches]


def _filled(cache: ImageCache, images: float) -> float:
    return sum(
        min(cache.capacity, max(images, cache.images) * size) for size in (cache.feature_bytes, cache.pixel_bytes)
    )


def screenshots_of(setting: Setting, stage: str) -> float:
    """Screenshots that the images of a whole training come from."""
    params = setting.params
    if stage == "train_sft":
        turns = episode_size(setting, "teacher_rollouts", params.teacher.max_steps).turns
        return curated_episodes(setting) * turns
    if stage == "distill_judge":
        return judge_examples(setting) * params.judge.distill.screenshots
    most = 0.0
    for name, phase in rl_phases(setting).items():
        turns = episode_size(setting, f"train_rl@{name}", phase.max_steps).turns
        share = (
            1.0 if params.inference.engine == "transformers" else setting.rates.effective_share_of(f"train_rl@{name}")
        )
        most = max(most, phase.iterations * share * iteration_episodes(setting, name) * turns)
    return most


def _browsers(params: Params) -> list[Need]:
    """Chromium of the open episodes; on a Ray cluster it is elsewhere."""
    if params.rollout.executor == "ray":
        return []
    part = browsers(params)
    return [Need(part.name, part.bytes, part.formula, ("browser.concurrency",))]


def _served(setting: Setting, stage: str, memory: list[MemoryPlan]) -> list[Need]:
    """The processes of the vLLM servers that a stage starts, and the weights that sleepers keep.

    Args:
        memory: of the devices; a server's plan there is its memory on a processor.
    """
    params, on_cpu = setting.params, setting.machine.device.is_cpu
    sections = {"inference.vllm.servers": params.inference.vllm} if params.inference.engine == "vllm" else {}
    if stage == "train_rl" and (judge := served_judge(params)) is not None:
        sections["judge.distill.vllm.servers"] = judge
    needs = []
    for key, section in sections.items():
        if section.urls:
            continue
        if on_cpu:
            roles = {"inference.vllm.servers": "server", "judge.distill.vllm.servers": "judge's server"}
            each = sum(plan.needed for plan in memory if plan.role == roles[key])
            size, words = each * section.servers, f"{section.servers} servers with their models"
        else:
            gpus = section.servers * section.gpus_per_server
            size, words = gpus * SERVER_PROCESS, f"{gpus} GPUs × {SERVER_PROCESS / GIB:g} GiB"
        needs.append(Need(key.removesuffix(".servers"), size, words, (key,)))
        if section.sleeps and params.model.lora is not None and not on_cpu:
            copied = 2 * section.servers * setting.policy.parameters
            needs.append(Need("weights of sleepers", copied, "2 B × parameters of each server, with adapters"))
    return needs


def _of_part(part: Part) -> Need:
    keys = {
        "browsers": ("browser.concurrency",),
        "KV cache": ("browser.concurrency", "agent.max_context_tokens"),
        "layer inputs": ("sft.micro_batch_tokens", "rl.micro_batch_tokens"),
        "activations": ("sft.micro_batch_tokens", "rl.micro_batch_tokens"),
    }
    return Need(part.name, part.bytes, part.formula, keys.get(part.name, ()), part.bytes * (part.name in RESIDENT))
