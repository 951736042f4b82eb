"""`params.yaml`, typed and validated at load.

A recipe is one complete `params.yaml`. Every key that changes a result lives here and nowhere else: an environment
variable is a hidden input that DVC cannot see. An unknown key, a wrong type or a combination that cannot work is
refused before anything starts, with the field, the value and what is allowed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, model_validator

from components.recipe_text import RecipeLoader, explain

DEFAULT_PATH = Path("params.yaml")


class RecipeError(ValueError):
    """A recipe that cannot be used. The message has one line per wrong field: where, what it is, what is allowed."""


TextKind = Literal["none", "elements", "axtree", "html"]
"""`elements`: what can be acted on, with its coordinates; `axtree`, `html`: the accessible page, with element ids."""
ProtocolName = Literal["openwebrl", "webgym", "webagent_r1", "webagent_r1_bare", "browseragent"]
ELEMENT_PROTOCOLS = frozenset({"webagent_r1", "webagent_r1_bare", "browseragent"})
"""Protocols whose actions name elements by id, which `axtree` and `html` show."""
Decay = Annotated[float, Field(ge=0, lt=1)]
"""A decay rate of Adam's."""


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ModelParams(Section):
    """The policy and the judge, both Qwen3-VL."""

    base: str
    """Directory or Hugging Face name of the policy's base; `data/base_model` is the small one that ships here."""
    judge_base: str
    """The same for the judge."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    device: Literal["cpu", "cuda"] = "cpu"
    train_vision: bool = False
    """False freezes the vision tower in SFT and RL (OpenWebRL, section 4.2)."""
    gradient_checkpointing: bool = False
    """Compute activations again in the backward pass: less memory, about a third more time."""
    think_prefix: bool = False
    """True if the chat template of the base opens `<think>` itself (Qwen3-VL Thinking models)."""


class ObservationParams(Section):
    """What the policy sees besides the screenshot."""

    text: TextKind = "none"
    screenshots: int = Field(default=1, ge=1)
    """K: screenshots kept in the context (OpenWebRL, section 4.1)."""


class AgentParams(Section):
    """The harness (OpenWebRL, sections 4.1 and A.3)."""

    protocol: ProtocolName = "openwebrl"
    """How the agent is spoken to and answers (`components/agent/protocols`); `webagent_r1_bare` is without thinking."""
    prompt: Literal["full", "compact"] = "full"
    """`full` describes the tools; `compact` is one sentence, for models that know the tools from training."""
    max_response_tokens: int = Field(gt=0)
    max_context_tokens: int = Field(gt=0)
    max_format_errors: int = Field(default=3, gt=0)
    """Consecutive unparsable turns that end the episode."""
    inference_timeout_s: float = Field(default=30, gt=0)
    """Limit of one response, in seconds."""
    task_timeout_s: float = Field(default=600, gt=0)
    """Limit of one episode, in seconds."""


class EgressParams(Section):
    """Where a browser may go. Host names are shell patterns, such as `*.example.org`."""

    guard: bool = True
    """All traffic goes through a proxy that holds to these rules; false: the browser asks anybody itself."""
    allowed_hosts: list[str] = Field(default_factory=lambda: ["*"])
    blocked_hosts: list[str] = Field(default_factory=list)
    private_hosts: list[str] = Field(default_factory=list)
    """Hosts, or host:port, that may lie on loopback or private addresses: a benchmark's own servers, say."""


class QueueParams(Section):
    """How many operations of a kind one pool of browsers does at once; null: as many as there are."""

    navigate: PositiveInt | None = None
    act: PositiveInt | None = None
    screenshot: PositiveInt | None = None


class BrowserParams(Section):
    """The environment's limits, in seconds unless said otherwise (OpenWebRL, table 7)."""

    viewport: tuple[PositiveInt, PositiveInt] = (1280, 720)
    concurrency: int = Field(default=8, gt=0)
    """Episodes at once on this machine."""
    start_timeout_s: float = Field(default=60, gt=0)
    step_timeout_s: float = Field(default=45, gt=0)
    screenshot_timeout_s: float = Field(default=20, gt=0)
    navigation_retries: int = Field(default=2, ge=0)
    settle_ms: int = Field(default=1500, ge=0)
    """Longest wait for a page to become quiet after a call, in milliseconds."""
    quiet_ms: int = Field(default=250, ge=0)
    """How long a page must not have changed to count as quiet, in milliseconds; 0 for pages that answer at once."""
    queues: QueueParams = QueueParams()
    egress: EgressParams = EgressParams()


class RolloutParams(Section):
    """Where the browsers of rollouts run. It changes no result, so no stage depends on it."""

    executor: Literal["local", "ray"] = "local"
    """`local`: on this machine. `ray`: on the machines of a Ray cluster, `browser.concurrency` episodes on each."""
    ray_address: str | None = None
    """The cluster to join: `auto` on one of its machines; null starts Ray on this machine alone."""
    ray_workers: PositiveInt | None = None
    """Pools of browsers in the cluster; null: one per machine."""
    ray_cpus: float = Field(default=1, gt=0)
    """Cores that Ray reserves for each."""


class TaskParams(Section):
    """Where tasks come from."""

    miniwob_train: list[str] = Field(default_factory=list)
    miniwob_heldout: list[str] = Field(default_factory=list)
    """Families that are never trained on."""
    train_per_family: int = Field(default=0, ge=0)
    eval_per_family: int = Field(default=0, ge=0)
    heldout_per_family: int = Field(default=0, ge=0)
    train_seed_start: int = Field(default=0, ge=0)
    eval_seed_start: int = Field(default=1_000_000, ge=0)
    files: list[str] = Field(default_factory=list)
    """JSONL, JSON or Parquet task files in the schemas of `components/tasks/sources.py`; a missing one is skipped and
    said."""
    check_start_pages: bool = True
    """Ask for the start page of each task from a file before anything is spent on it."""

    @model_validator(mode="after")
    def _seeds_disjoint(self) -> TaskParams:
        if self.train_seed_start + self.train_per_family > self.eval_seed_start:
            raise ValueError(
                f"eval_seed_start = {self.eval_seed_start} must be at least train_seed_start + train_per_family = "
                f"{self.train_seed_start + self.train_per_family}, or seeds overlap"
            )
        both = set(self.miniwob_train) & set(self.miniwob_heldout)
        if both:
            raise ValueError(f"families {sorted(both)} are both trained on and held out")
        return self


class FilterParams(Section):
    """Which tasks are dropped before anything is spent on them (OpenWebRL, section 4.2)."""

    drop_decomposed: bool = True
    blocked_websites: list[str] = Field(default_factory=list)
    min_tasks_per_website: int = Field(default=1, ge=1)
    """Websites with fewer tasks are the long tail."""


class DedupParams(Section):
    """Greedy similarity dedup. Thresholds are cosine similarities; a task above it to a kept one is dropped."""

    embedder: str = "minilm"
    """`minilm` (all-MiniLM-L6-v2 from PyPI) or a sentence-transformers name or path."""
    sft_threshold: float = Field(gt=0, le=1.01)
    rl_threshold: float = Field(gt=0, le=1.01)
    max_similar: int = Field(default=1, ge=1)
    """A task is dropped when this many kept tasks are above the threshold. 1 is the paper's rule; pages that are
    generated from a seed share one wording, so the demo keeps several of each."""
    per_website: bool = False
    """Compare tasks of the same website only."""

    @model_validator(mode="after")
    def _rl_stricter(self) -> DedupParams:
        if self.rl_threshold > self.sft_threshold:
            raise ValueError(
                f"rl_threshold = {self.rl_threshold} must not exceed sft_threshold = {self.sft_threshold}: the RL pool "
                "is the stricter one"
            )
        return self


class SamplingParams(Section):
    """Decoding."""

    temperature: float = Field(default=1.0, ge=0)
    """0 is greedy."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=0, ge=0)
    """0 is off."""


class TeacherParams(Section):
    """Teacher rollouts."""

    policy: Literal["scripted"] = "scripted"
    """Who teaches; `scripted` is MiniWoB++'s oracle."""
    tasks: int = Field(gt=0)
    """Tasks of the SFT pool that the teacher tries."""
    attempts: int = Field(default=4, gt=0)
    noise: float = Field(default=0.2, ge=0, le=1)
    """Probability per episode that the scripted teacher makes a mistake, so that some attempts fail."""
    max_steps: int = Field(default=8, gt=0)


class CurateParams(Section):
    """From labelled teacher trajectories to the SFT set (OpenWebRL, section 4.2)."""

    max_trajectories: int = Field(gt=0)
    max_per_website: int = Field(gt=0)


class OptimParams(Section):
    """Supervised training."""

    epochs: int = Field(gt=0)
    lr: float = Field(gt=0)
    batch_size: int = Field(gt=0)
    """Turn samples per optimiser step."""
    micro_batch_tokens: int = Field(default=8192, gt=0)
    max_packing_gap: float = Field(default=1e-4, gt=0)
    """Largest gap in nats between packed and single samples up to which packing is used; bfloat16 needs about 0.1."""
    warmup: float = Field(default=0.1, ge=0, le=1)
    """Share of the steps that warm up linearly; then cosine to 0."""
    weight_decay: float = Field(default=0.0, ge=0)
    max_grad_norm: float = Field(default=1.0, gt=0)


class JudgeParams(Section):
    """Labels, reward and judge distillation."""

    reward: Literal["rules", "distilled"] = "rules"
    """Who rewards RL rollouts."""
    rollout_tasks: int = Field(gt=0)
    rollout_attempts: int = Field(gt=0)
    rollout_temperature: float = Field(default=1.0, ge=0)
    holdout_share: float = Field(default=0.2, gt=0, lt=1)
    """Share of the tasks (never trajectories) held out to measure agreement."""
    screenshots: int = Field(default=3, ge=0)
    max_response_tokens: int = Field(default=256, gt=0)
    min_agreement: float = Field(default=0.0, ge=0, le=1)
    """A distilled judge that agrees less often than this on held-out trajectories may not reward RL."""
    balance: bool = True
    """Weigh both classes equally when the judge is trained."""
    optim: OptimParams


class RLPhase(Section):
    """One phase of the horizon curriculum."""

    iterations: int = Field(gt=0)
    max_steps: int = Field(gt=0)


class RLParams(Section):
    """MM-GRPO (OpenWebRL, section 4.4 and table 7)."""

    short: RLPhase
    long: RLPhase
    group_size: int = Field(default=5, ge=2)
    effective_groups: int = Field(gt=0)
    """Groups with a reward spread that an iteration collects."""
    max_sampled_groups: int = Field(gt=0)
    """Groups that an iteration may sample to find them."""
    task_sampling: Literal["uniform", "adaptive"] = "uniform"
    """Uniform passes over all tasks (OpenWebRL); adaptive draws more from websites whose recent groups had a spread."""
    temperature: float = Field(default=0.8, gt=0)
    lr: float = Field(gt=0)
    betas: tuple[Decay, Decay] = (0.9, 0.98)
    weight_decay: float = Field(default=0.1, ge=0)
    ppo_epochs: int = Field(default=2, gt=0)
    batch_turns: int = Field(default=256, gt=0)
    """Turn samples per optimiser step."""
    micro_batch_tokens: int = Field(default=8192, gt=0)
    max_packing_gap: float = Field(default=1e-4, gt=0)
    """Largest gap in nats between packed and single samples up to which packing is used; bfloat16 needs about 0.1."""
    clip_low: float = Field(default=0.2, gt=0)
    clip_high: float = Field(default=0.28, gt=0)
    max_grad_norm: float = Field(default=1.0, gt=0)
    max_logprob_gap: float = Field(default=1e-3, gt=0)
    """Largest gap in nats between trainer and rollout before an iteration's first update; beyond it the run stops."""

    @model_validator(mode="after")
    def _enough_groups(self) -> RLParams:
        if self.max_sampled_groups < self.effective_groups:
            raise ValueError(
                f"max_sampled_groups = {self.max_sampled_groups} must be at least "
                f"effective_groups = {self.effective_groups}"
            )
        return self


class EvaluationParams(Section):
    """Benchmark evaluation."""

    sampling: SamplingParams = SamplingParams(temperature=0.0)
    max_steps: int = Field(gt=0)
    max_response_tokens: int | None = Field(default=None, gt=0)
    """None: the agent's."""
    max_aborted: float = Field(default=0.1, ge=0, le=1)
    """Share of episodes that the environment may end before the evaluation is invalid."""
    bootstrap: int = Field(default=10_000, gt=0)


class QualityParams(Section):
    """Gates on the tables."""

    max_rejected: float = Field(default=0.05, ge=0, le=1)
    """Share of task rows that may be rejected before collect_tasks fails."""
    min_positive: float = Field(default=0.02, ge=0, le=1)
    max_positive: float = Field(default=0.99, ge=0, le=1)
    """Bounds on the share of successes among labelled trajectories."""

    @model_validator(mode="after")
    def _bounds_in_order(self) -> QualityParams:
        if self.min_positive > self.max_positive:
            raise ValueError(f"min_positive = {self.min_positive} must not exceed max_positive = {self.max_positive}")
        return self


class TrackingParams(Section):
    """MLflow."""

    experiment: str = "waymark"
    tracking_uri: str = "sqlite:///mlflow/store/mlflow.db"
    trace_samples: int = Field(default=4, ge=0)
    """Trajectories per rollout stage that are logged as traces."""


class Params(Section):
    """A whole recipe."""

    name: str
    seed: int = 0
    model: ModelParams
    observation: ObservationParams
    agent: AgentParams
    browser: BrowserParams
    rollout: RolloutParams = RolloutParams()
    tasks: TaskParams
    filters: FilterParams = FilterParams()
    dedup: DedupParams
    teacher: TeacherParams
    curate: CurateParams
    sft: OptimParams
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
        raise RecipeError("\n".join(lines)) from error
