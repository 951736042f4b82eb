"""A whole recipe: its sections, and the checks that refuse impossible combinations."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import field_validator, model_validator

from components.params.construction import ConstructionParams
from components.params.data import (
    CurateParams,
    DedupParams,
    FilterParams,
    QualityParams,
    TaskParams,
)
from components.params.harness import (
    AgentParams,
    BrowserParams,
    ObservationParams,
    RolloutParams,
)
from components.params.judge import (
    JudgeParams,
)
from components.params.learning import (
    EVALUATION_TIMEOUT_S,
    MAX_SERVED_RANK,
    EvaluationParams,
    InferenceParams,
    ModelParams,
    TrackingParams,
    TrainingParams,
)
from components.params.optim import SFTParams
from components.params.placement import PlacementParams
from components.params.pretrain import PretrainParams
from components.params.rl import (
    RLParams,
)
from components.params.section import NoEffect, Section, Seed
from components.params.teacher import Teacher
from components.params.worlds import WorldSections

OTHER_REPORTS = {"leaderboard": "reports/leaderboard.html", "calibration": "reports/calibration.json"}
"""Files with which the report of a recipe of the same name would share its place."""


class Params(Section):
    """A whole recipe."""

    name: str
    """Letters, digits, `.`, `_` and `-`; the first is a letter or a digit. Not `leaderboard` or `calibration`: other
    files in `reports/` have these names."""
    seed: Seed = 0
    """Seed of all random draws: tasks, attempts, training and bootstraps. Stages derive their own seeds from it."""
    model: ModelParams
    inference: InferenceParams = InferenceParams()
    training: Annotated[TrainingParams, NoEffect] = TrainingParams()
    observation: ObservationParams = ObservationParams()
    agent: AgentParams
    browser: BrowserParams = BrowserParams()
    rollout: Annotated[RolloutParams, NoEffect] = RolloutParams()
    placement: Annotated[PlacementParams, NoEffect] = PlacementParams()
    pretrain: PretrainParams = PretrainParams()
    """The stage `pretrain_base`, which trains the base model of the small recipes."""
    worlds: WorldSections
    """The worlds of the run, each with the keys of its own section: `{shop: {train: 60}, live: {}}`."""
    tasks: TaskParams = TaskParams()
    construction: ConstructionParams | None = None
    """Settings of `waymark tasks build`. No stage of the pipeline constructs tasks with a model."""
    filters: FilterParams = FilterParams()
    dedup: DedupParams
    teacher: Teacher
    curate: CurateParams
    sft: SFTParams
    judge: JudgeParams
    rl: RLParams
    evaluation: EvaluationParams
    quality: QualityParams = QualityParams()
    tracking: Annotated[TrackingParams, NoEffect] = TrackingParams()

    @property
    def task_seed(self) -> int:
        """The seed of RL's draws of tasks."""
        return self.seed if self.rl.task_seed is None else self.rl.task_seed

    @property
    def sampling_seed(self) -> int:
        """The seed of RL's attempts and updates."""
        return self.seed if self.rl.sampling_seed is None else self.rl.sampling_seed

    @field_validator("name")
    @classmethod
    def _names_files(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
            raise ValueError(
                "must have at most 100 letters, digits, `.`, `_` and `-`, and begin with a letter or a digit, because "
                "files of reports have this name"
            )
        if name in OTHER_REPORTS:
            raise ValueError(f"Waymark writes {OTHER_REPORTS[name]} itself: choose another name for the recipe")
        return name

    @model_validator(mode="after")
    def _elements_named(self) -> Params:
        protocol, text = self.agent.protocol, self.observation.text
        if not self.agent.shows_screenshots and text not in ("axtree", "html"):
            raise ValueError(
                f"agent.protocol = {protocol} acts on element ids: observation.text must be axtree or html, not {text}"
            )
        return self

    @model_validator(mode="after")
    def _shards_are_possible(self) -> Params:
        if self.training.shard and self.inference.engine != "vllm":
            raise ValueError(
                f"training.shard = true leaves no process with a whole model, which inference.engine = "
                f"{self.inference.engine} samples from: set it to vllm"
            )
        return self

    @model_validator(mode="after")
    def _a_policy_can_be_chosen_without_the_judge(self) -> Params:
        least, validated = self.judge.trust.min_precision, self.rl.validation.every and self.rl.checkpoints.best
        if least and not validated:
            raise ValueError(
                f"judge.trust.min_precision = {least} ends a phase with the best policy on validation: set "
                "rl.validation.every above 0 and rl.checkpoints.best to true, or min_precision to 0"
            )
        return self

    @model_validator(mode="after")
    def _a_retrained_judge_is_up_to_date(self) -> Params:
        staleness = self.rl.max_staleness
        if self.judge.distill.retrain is not None and self.judge.reward == "distilled" and staleness:
            raise ValueError(
                f"rl.max_staleness = {staleness} rolls out while earlier iterations update, and which rollouts a "
                "retrained judge rewards would depend on their speed: set it to 0, or leave out judge.distill.retrain"
            )
        return self

    @model_validator(mode="after")
    def _judge_has_gpus_of_its_own(self) -> Params:
        judge, policy = self.judge.distill.vllm, self.inference.vllm
        if self.judge.reward != "distilled" or judge is None or judge.urls or self.model.device != "cuda":
            return self
        used = {*range(self.training.processes)}
        if self.inference.engine == "vllm" and not policy.urls:
            used |= {*policy.gpus}
        if taken := sorted(used & {*judge.gpus}):
            raise ValueError(
                f"judge.distill.vllm and the trainer or the policy's servers share the GPUs {taken}: set "
                f"judge.distill.vllm.first_gpu to {max(used) + 1} or more"
            )
        return self

    @model_validator(mode="after")
    def _adapters_can_be_served(self) -> Params:
        rank = self.model.lora.rank if self.model.lora is not None else 0
        if self.inference.engine == "vllm" and rank > MAX_SERVED_RANK:
            raise ValueError(
                f"model.lora.rank = {rank}: vLLM serves adapters up to rank {MAX_SERVED_RANK}; lower it, or set "
                "inference.engine to transformers"
            )
        return self

    @model_validator(mode="after")
    def _adapters_are_files(self) -> Params:
        if self.model.lora is not None and self.inference.vllm.transfer == "ipc":
            raise ValueError(
                "inference.vllm.transfer = ipc has no effect with model.lora, because adapters are sent as files: "
                "set inference.vllm.transfer to disk, or model.lora to null"
            )
        return self

    @model_validator(mode="after")
    def _screenshots_are_shown(self) -> Params:
        default = ObservationParams.model_fields["screenshots"].default
        if self.observation.screenshots != default and not self.agent.shows_screenshots:
            raise ValueError(
                f"observation.screenshots = {self.observation.screenshots} has no effect with agent.protocol = "
                f"{self.agent.protocol}, which shows none: leave it out, or change agent.protocol"
            )
        return self

    @model_validator(mode="after")
    def _servers_share_the_gpu(self) -> Params:
        vllm = self.inference.vllm
        if not (vllm.sleeps or vllm.transfer == "ipc"):
            return self
        key = "inference.vllm.sleeps: true" if vllm.sleeps else "inference.vllm.transfer: ipc"
        unset = "sleeps: false" if vllm.sleeps else "transfer: disk"
        needs = {
            "inference.engine: vllm": self.inference.engine == "vllm",
            "model.device: cuda": self.model.device == "cuda",
            "inference.vllm.urls: []": not vllm.urls,
            "rl.max_staleness: 0": not self.rl.max_staleness,
        }
        if vllm.transfer == "ipc":
            needs |= {
                "training.processes: 1": self.training.processes == 1,
                "inference.vllm.first_gpu: 0": vllm.first_gpu == 0,
                "inference.vllm.servers: 1": vllm.servers == 1,
                "inference.vllm.gpus_per_server: 1": vllm.gpus_per_server == 1,
            }
        if missing := [need for need, is_met in needs.items() if not is_met]:
            raise ValueError(f"{key} needs {', '.join(missing)}; or set inference.vllm.{unset}")
        return self

    @model_validator(mode="after")
    def _machines_share_a_registry(self) -> Params:
        uri = self.tracking.tracking_uri
        if self.placement.pools and uri.startswith("sqlite:///") and not uri.startswith("sqlite:////"):
            raise ValueError(
                f"placement.pools sends stages to other clones, and tracking.tracking_uri = {uri} is a file of each "
                "clone: a model would be registered in one and not found in the other. Give the address of an MLflow "
                "server, or for workers on this machine the absolute path, with four slashes"
            )
        return self

    @model_validator(mode="after")
    def _pools_have_stages(self) -> Params:
        if unmatched := self.placement.unmatched():
            raise ValueError(f"placement.pools: {'; '.join(unmatched)}")
        return self

    @model_validator(mode="after")
    def _response_fits(self) -> Params:
        limits = {"agent": self.agent.max_response_tokens, "evaluation": self.evaluation.max_response_tokens}
        for name, tokens in limits.items():
            if tokens is not None and tokens >= self.agent.max_context_tokens:
                raise ValueError(
                    f"{name}.max_response_tokens = {tokens} must be smaller than "
                    f"agent.max_context_tokens = {self.agent.max_context_tokens}"
                )
        return self

    @property
    def evaluation_agent(self) -> AgentParams:
        """The harness with the limits of evaluation in place of those of training."""
        agent, evaluation = self.agent, self.evaluation
        return agent.model_copy(
            update={
                "max_response_tokens": evaluation.max_response_tokens or agent.max_response_tokens,
                "inference_timeout_s": evaluation.inference_timeout_s
                or max(EVALUATION_TIMEOUT_S, agent.inference_timeout_s),
            }
        )
