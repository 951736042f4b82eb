"""What all times of a plan follow from: the recipe, the machine, the rates, and the units of each resource."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path

import pyarrow.parquet as pq

from components.architecture import Architecture, architecture_of
from components.params import EndpointTeacherParams, Params, ScriptedTeacherParams, TaskFile
from components.plan.distilled_judge import served_judge
from components.plan.episodes import PromptShape, TurnNumbers, prompt_shape, turn_numbers
from components.plan.placement import Machine, sequences_of
from components.plan.rates import Counts, Rates, generator_rates
from components.plan.speeds import Speeds
from components.records import Split
from components.store import digest
from components.tasks import load_files
from components.tasks.files import read_rows
from components.worlds import even_counts, worlds_of

TASKS_OF_A_FILE = 300
"""Tasks of a file that is not there."""
RESOURCES = ("browsers", "cores", "servers", "judge", "auditor", "trainer")


@dataclass(frozen=True)
class Setting:
    """A recipe on a machine.

    Attributes:
        cores: cores for browsers; 0 takes this machine's for a recipe without GPU, and one per browser else.
        more: factors of the units of resources, to see what more of one would change.
    """

    params: Params
    machine: Machine
    rates: Rates
    cores: int = 0
    more: Mapping[str, float] = field(default_factory=dict)

    @property
    def policy(self) -> Architecture:
        """The shape of the policy."""
        return architecture_of(self.params.model.base)

    @property
    def judge(self) -> Architecture:
        """The shape of the distilled judge."""
        return architecture_of(self.params.model.judge_base)

    @property
    def has_servers(self) -> bool:
        """Whether vLLM servers answer; else the process of the stage does."""
        return self.params.inference.engine == "vllm"

    def units(self, stage: str) -> dict[str, int]:
        """The units of each resource that a stage has."""
        params, stage = self.params, stage.partition("@")[0]
        is_cpu = self.machine.device.is_cpu
        cores = self.cores or ((os.cpu_count() or 1) if is_cpu else params.browser.concurrency)
        servers = params.inference.vllm.count if self.has_servers else 1
        if stage == "teacher_rollouts":
            teacher = params.teacher
            servers = teacher.endpoint.max_in_flight if isinstance(teacher, EndpointTeacherParams) else 0
        requests = 0 if params.judge.model is None else params.judge.model.endpoint.max_in_flight
        is_distilled = stage == "distill_judge" or (stage == "train_rl" and params.judge.reward == "distilled")
        served = served_judge(params) if stage == "train_rl" else None
        judges = (1 if served is None else served.count, requests) if is_distilled else (requests, 0)
        units = (params.browser.concurrency, cores, servers, *judges, params.training.processes)
        return {
            name: max(1, round(number * self.more.get(name, 1.0))) if number else 0
            for name, number in zip(RESOURCES, units, strict=True)
        }

    def serving(self) -> Speeds:
        """The speeds of one server of the policy, or of the policy in the process of the stage, which decodes on
        half of a processor."""
        params, device = self.params, self.machine.device
        vllm = params.inference.vllm
        if device.is_cpu:
            ways = 0.5 / (vllm.servers if self.has_servers and not vllm.urls else 1)
        else:
            ways = float(vllm.gpus_per_server) if self.has_servers else 1.0
        is_measured = self.has_servers or self.rates.are_measured
        rates = self.rates if is_measured else self._of_generator(self.policy)
        return Speeds(self.policy, params.model, device, rates, ways)

    def training(self, architecture: Architecture) -> Speeds:
        """The speeds of the processes that train together; on a CPU they share it."""
        processes = 1.0 if self.machine.device.is_cpu else float(self.params.training.processes)
        ways = processes * self.more.get("trainer", 1.0)
        return Speeds(architecture, self.params.model, self.machine.device, self.rates, ways)

    def judging(self) -> Speeds:
        """The speeds of the distilled judge, which answers on one device of the trainer, or of one of its servers."""
        served = served_judge(self.params)
        ways = self.more.get("judge", 1.0) if served is None else float(served.gpus_per_server)
        is_measured = served is not None or (self.rates.are_measured and not self.has_servers)
        rates = self.rates if is_measured else self._of_generator(self.judge)
        return Speeds(self.judge, self.params.model, self.machine.device, rates, ways)

    def _of_generator(self, architecture: Architecture) -> Rates:
        """The rates with those of the generator in the process of a stage, where the others are of vLLM's servers."""
        return self.rates if self.machine.device.is_cpu else self.rates.model_copy(update=generator_rates(architecture))

    def prompt_shape(self, stage: str) -> PromptShape:
        """The prompts of a stage's episodes, with its mean response."""
        params, rates = self.params, self.rates
        response = rates.habits_of(stage).response * params.agent.max_response_tokens
        shape = prompt_shape(params, self.policy, response)
        page = rates.page_tokens_of(params)
        return shape if page is None else replace(shape, text=page)

    def step_limits(self, max_steps: int, is_evaluation: bool = False) -> tuple[int, ...]:
        """The step limits of a stage's episodes. Each holds for the same share of them, because the tasks of a level of
        difficulty (`tasks.horizon`) are not counted."""
        horizon = self.params.tasks.horizon
        if horizon is None or is_evaluation:
            return (max_steps,)
        return tuple(min(steps, max_steps) for steps in (horizon.easy, horizon.medium, horizon.hard))

    def turns(self, stage: str, max_steps: int, is_evaluation: bool = False) -> TurnNumbers:
        """The numbers of turns of a stage's episodes.

        Args:
            is_evaluation: the tasks are not those of training, which may have step limits of their own.
        """
        rates, limits = self.rates, self.step_limits(max_steps, is_evaluation)
        return turn_numbers(rates.habits_of(stage).turns, limits, self._fitting(stage, max_steps), rates.are_measured)

    def _fitting(self, stage: str, max_steps: int) -> int:
        """Turns of a stage that fit into `agent.max_context_tokens`, as `agent.loop` counts; a script has no
        context."""
        params, name = self.params, stage.partition("@")[0]
        if name == "teacher_rollouts" and isinstance(params.teacher, ScriptedTeacherParams):
            return max_steps
        agent = params.evaluation_agent if name == "evaluate" else params.agent
        return self.prompt_shape(stage).fitting(agent.max_context_tokens - agent.max_response_tokens, max_steps)

    def slots(self, context: float) -> int:
        """Sequences of `context` tokens that one server decodes together, as far as its memory allows. The policy in
        the process of a stage decodes those of all browsers."""
        params = self.params
        if not self.has_servers:
            return self.units("train_rl")["browsers"]
        tokens = sequences_of(params, self.machine.device) * params.agent.max_context_tokens
        return max(1, min(params.inference.vllm.max_in_flight, int(tokens // context)))

    def counts(self) -> tuple[Counts, list[str]]:
        """Numbers of tasks, and what was assumed about them."""
        known = self.rates.counts
        if known is not None and known.tasks == tasks_digest(self.params):
            return known, []
        splits, lines = self._splits
        evaluated = splits["eval"] + splits["heldout"]
        collected = max(splits.total(), self.taught + evaluated)  # the teacher has them from somewhere
        return Counts(collected=collected, evaluation=evaluated), lines

    @property
    def taught(self) -> int:
        """Tasks that the teacher tries."""
        return self._trained(self.params.teacher.tasks)

    @property
    def judged(self) -> int:
        """Tasks of the rollouts for the distilled judge."""
        return self._trained(self.params.judge.distill.rollout_tasks)

    def _trained(self, number: int) -> int:
        """`number`, or all training tasks but those set aside for validation, if it is known that these are fewer."""
        splits, unknown = self._splits
        if unknown or not splits["train"]:
            return number
        watched = self.params.rl.validation
        set_aside = max(0, watched.tasks - splits["validation"]) if watched.every else 0
        return min(number, max(1, splits["train"] - set_aside))

    @cached_property
    def _splits(self) -> tuple[Counter[Split], list[str]]:
        """Tasks of worlds and files by split, and what was assumed about files."""
        splits, lines = self._tasks_of_worlds(), []
        for file in self.params.tasks.files:
            tasks, line = _tasks_of(file)
            splits.update(tasks)
            lines += [line] if line else []
        return splits, lines

    def _tasks_of_worlds(self) -> Counter[Split]:
        """Tasks that the worlds give, by split."""
        watched, worlds = self.params.rl.validation, worlds_of(self.params)
        numbers = (watched.tasks, watched.heldout) if watched.every else (0, 0)
        validation, heldout = (even_counts(worlds.names, number) for number in numbers)
        splits: Counter[Split] = Counter()
        for world in worlds:
            splits.update(world.planned_tasks(validation[world.name], heldout[world.name]))
        return splits


def tasks_digest(params: Params) -> str:
    """A digest of the sections that say which tasks there are."""
    sections = {name: section.model_dump(mode="json") for name, section in params.worlds.items()}
    return digest(json.dumps([sections, params.tasks.model_dump(mode="json")], sort_keys=True))


def _tasks_of(file: TaskFile) -> tuple[Counter[Split], str]:
    """Tasks of a file by split, and what is assumed about them if it cannot be read."""
    assumed: Counter[Split] = Counter({file.split or "eval": TASKS_OF_A_FILE})
    path = Path(file.path)
    if not path.exists():
        return assumed, f"{file.path} is not there and counts as {TASKS_OF_A_FILE} tasks"
    try:
        return Counter(_rows(path, file.split, path.stat().st_mtime_ns)), ""
    except (ValueError, OSError) as error:
        return assumed, f"{file.path} counts as {TASKS_OF_A_FILE} tasks: {error}"


@cache
def _rows(path: Path, split: Split | None, changed_ns: int) -> Counter[Split]:
    """Rows of a file by split. Without a split of the file the rows are parsed, because their schema says it.

    Raises:
        ValueError: the file cannot be read.
    """
    if split is None:
        return Counter(task.split for task in load_files([path]).tasks)
    if path.suffix == ".parquet":
        return Counter({split: int(pq.read_metadata(path).num_rows)})
    return Counter({split: sum(1 for _ in read_rows(path))})
