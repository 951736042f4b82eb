"""`params.yaml`, typed and validated at load.

A recipe is one complete `params.yaml`. Every key that changes a result lives here and nowhere else: an environment
variable is a hidden input that DVC cannot see. An unknown key, a wrong type or a combination that cannot work is
refused before anything starts, with the field, the value and what is allowed.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import ValidationError, model_validator

from components.params.construction import ConstructionParams, RatioParams
from components.params.data import (
    CurateParams,
    DedupParams,
    EncyclopaediaParams,
    EndpointParams,
    FilterParams,
    HorizonParams,
    QualityParams,
    SitesParams,
    TaskFile,
    TaskParams,
    TeacherParams,
)
from components.params.harness import (
    ELEMENT_PROTOCOLS,
    AgentParams,
    BrowserParams,
    EgressParams,
    ObservationParams,
    ProtocolName,
    QueueParams,
    RolloutParams,
    SamplingParams,
    TextKind,
)
from components.params.learning import (
    EvaluationParams,
    InferenceParams,
    JudgeParams,
    JudgeProtocolName,
    LoRAParams,
    ModelParams,
    OptimParams,
    RLParams,
    RLPhase,
    SFTParams,
    TrackingParams,
    TrainingParams,
    TrustParams,
    VLLMParams,
)
from components.params.section import Section
from components.recipe_text import RecipeLoader, explain
from components.secrets import redacted

__all__ = [
    "DEFAULT_PATH",
    "ELEMENT_PROTOCOLS",
    "AgentParams",
    "BrowserParams",
    "ConstructionParams",
    "CurateParams",
    "DedupParams",
    "EgressParams",
    "EncyclopaediaParams",
    "EndpointParams",
    "EvaluationParams",
    "FilterParams",
    "HorizonParams",
    "InferenceParams",
    "JudgeParams",
    "JudgeProtocolName",
    "LoRAParams",
    "ModelParams",
    "ObservationParams",
    "OptimParams",
    "Params",
    "ProtocolName",
    "QualityParams",
    "QueueParams",
    "RLParams",
    "RLPhase",
    "RatioParams",
    "RecipeError",
    "RolloutParams",
    "SFTParams",
    "SamplingParams",
    "Section",
    "SitesParams",
    "TaskFile",
    "TaskParams",
    "TeacherParams",
    "TextKind",
    "TrackingParams",
    "TrainingParams",
    "TrustParams",
    "VLLMParams",
    "load",
    "parse",
]

DEFAULT_PATH = Path("params.yaml")


class RecipeError(ValueError):
    """A recipe that cannot be used. The message has one line per wrong field: where, what it is, what is allowed."""


class Params(Section):
    """A whole recipe."""

    name: str
    seed: int = 0
    model: ModelParams
    inference: InferenceParams = InferenceParams()
    training: TrainingParams = TrainingParams()
    observation: ObservationParams
    agent: AgentParams
    browser: BrowserParams
    rollout: RolloutParams = RolloutParams()
    sites: SitesParams = SitesParams()
    tasks: TaskParams
    construction: ConstructionParams | None = None
    """`waymark tasks build` and its steps; no stage of the pipeline asks a model for tasks."""
    filters: FilterParams = FilterParams()
    dedup: DedupParams
    teacher: TeacherParams
    curate: CurateParams
    sft: SFTParams
    judge: JudgeParams
    rl: RLParams
    evaluation: EvaluationParams
    quality: QualityParams = QualityParams()
    tracking: TrackingParams = TrackingParams()

    @model_validator(mode="after")
    def _elements_named(self) -> Params:
        protocol, text = self.agent.protocol, self.observation.text
        if protocol in ELEMENT_PROTOCOLS and text not in ("axtree", "html"):
            raise ValueError(
                f"agent.protocol = {protocol} acts on element ids: observation.text must be axtree or html, not {text}"
            )
        return self

    @model_validator(mode="after")
    def _tasks_of_the_world(self) -> Params:
        tasks, asked = self.tasks, self.tasks.encyclopaedia
        for world, found in (
            ("miniwob", tasks.miniwob_train or tasks.miniwob_heldout),
            ("encyclopaedia", asked.kinds or asked.heldout_kinds),
        ):
            if found and world != self.sites.world:
                raise ValueError(
                    f"sites.world = {self.sites.world} serves no tasks of {world}, such as {found[0]}: a run has one "
                    f"offline site; set sites.world to {world}, or take them out of tasks"
                )
        if self.sites.world == "live" and self.teacher.policy == "scripted":
            raise ValueError(
                "the scripted teacher knows offline sites only: with sites.world = live, set teacher.policy to endpoint"
            )
        if self.sites.zim is not None and (asked.kinds or asked.heldout_kinds):
            raise ValueError(
                "sites.zim is another encyclopaedia than the one that tasks.encyclopaedia asks about: empty its kinds "
                "and give tasks by tasks.files, or set sites.zim to null"
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
    def _response_fits(self) -> Params:
        if self.agent.max_response_tokens >= self.agent.max_context_tokens:
            raise ValueError(
                f"agent.max_response_tokens = {self.agent.max_response_tokens} must be smaller than "
                f"agent.max_context_tokens = {self.agent.max_context_tokens}"
            )
        return self


def load(path: Path | str = DEFAULT_PATH) -> Params:
    """Read and validate a recipe.

    Raises:
        RecipeError: the file is missing, is no YAML mapping, or a field is wrong.
    """
    path = Path(path)
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), RecipeLoader)
    except FileNotFoundError as error:
        raise RecipeError(f"{path}: no such recipe; pick one with `waymark use recipes/demo.yaml`") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not YAML: {error}") from error
    if not isinstance(raw, dict):
        raise RecipeError(f"{path}: a recipe is a mapping of sections, this is {type(raw).__name__}")
    return parse(raw, str(path))


def parse(raw: dict, where: str = "params") -> Params:
    """Validate a recipe that was already read; `where` names it in errors."""
    try:
        return Params.model_validate(raw)
    except ValidationError as error:
        lines = [explain(Params, where, detail) for detail in error.errors()]
        raise RecipeError(redacted("\n".join(lines))) from error
