"""The sections of what is learned from: tasks, the teacher, what is kept of its work."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from components.params.section import Section


class TaskFile(Section):
    """A file of tasks. In `tasks.files`, a path alone stands for one with nothing else said."""

    path: str
    split: Literal["train", "eval", "heldout"] | None = None
    """What its tasks are for; null is what their schema says: benchmarks `eval`, training sets `train`, our own rows
    what each says. PAE has WebVoyager's columns, WebArena-Lite's training tasks WebArena's: both need `train` here."""
    answers: str | None = None
    """WebVoyager's file of reference answers, joined by id."""


def _task_file(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


class HorizonParams(Section):
    """Step budgets by difficulty (WebGym, section 5.3: 10, 20 and 30 in its best run, 15, 30 and 45 before)."""

    easy: int = Field(default=10, gt=0)
    medium: int = Field(default=20, gt=0)
    hard: int = Field(default=30, gt=0)

    @model_validator(mode="after")
    def _harder_is_longer(self) -> HorizonParams:
        if not self.easy <= self.medium <= self.hard:
            raise ValueError(
                f"easy, medium and hard must not decrease, these are {self.easy}, {self.medium}, {self.hard}"
            )
        return self


class EncyclopaediaParams(Section):
    """Questions of the offline encyclopaedia (`components/sites/encyclopaedia/questions.py`), in all and by kind."""

    kinds: list[str] = Field(default_factory=list)
    """Kinds of question to train and evaluate on, evenly."""
    heldout_kinds: list[str] = Field(default_factory=list)
    """Kinds that are never trained on."""
    train: int = Field(default=0, ge=0)
    eval: int = Field(default=0, ge=0)
    heldout: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _kinds_named(self) -> EncyclopaediaParams:
        both = set(self.kinds) & set(self.heldout_kinds)
        if both:
            raise ValueError(f"kinds {sorted(both)} are both trained on and held out")
        if (self.train or self.eval) and not self.kinds:
            raise ValueError("kinds is empty, and questions are asked for: name some, such as capital")
        if self.heldout and not self.heldout_kinds:
            raise ValueError(
                "heldout_kinds is empty, and held-out questions are asked for: name some, or set heldout 0"
            )
        return self


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
    encyclopaedia: EncyclopaediaParams = EncyclopaediaParams()
    files: list[Annotated[TaskFile, BeforeValidator(_task_file)]] = Field(default_factory=list)
    """JSONL, JSON or Parquet task files in the schemas of `components/tasks/rows`. A missing one is an error, for
    training tasks are held to those of every evaluation set; one that says `split: train` is skipped and said."""
    sites: dict[str, str] = Field(default_factory=dict)
    """Where sites of one's own stand, by name: `{shopping: "http://shop.example:7770"}` takes the place of
    `__SHOPPING__` in WebArena's tasks, `wikipedia` that of `__WIKIPEDIA__` in questions."""
    check_start_pages: bool = True
    """Ask for the start page of each task from a file before anything is spent on it."""
    horizon: HorizonParams | None = None
    """Step budgets of training tasks whose number of facts is known; null leaves all to the phase's `max_steps`."""

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


class SitesParams(Section):
    """Where tasks are done."""

    world: Literal["miniwob", "encyclopaedia", "live"] = "miniwob"
    """An offline site, which is served to the browsers of this run; `live`: the web, or sites of your own."""
    zim: str | None = None
    """A ZIM file to serve instead of the encyclopaedia that is built here, such as a Wikipedia from library.kiwix.org.
    A changed file needs another name: DVC sees the name."""


class FilterParams(Section):
    """Which tasks are dropped before anything is spent on them (OpenWebRL, section 4.2)."""

    overlap_threshold: float | None = Field(default=None, gt=0, le=1)
    """Cosine of the intents' embeddings (`dedup.embedder`) above which a task overlaps with an evaluation task; null
    compares ids and words alone."""
    drop_decomposed: bool = True
    drop_login: bool = False
    """Drop tasks whose source says that they need a login, or whose words ask for one. WebArena's tasks all do: leave
    it false where their sites are your own."""
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


class EndpointParams(Section):
    """A model behind an OpenAI-compatible endpoint."""

    url: str
    """Up to and with `/v1`."""
    model: str
    key_variable: str | None = "OPENAI_API_KEY"
    """The environment variable that holds the key; null where none is wanted."""
    max_in_flight: int = Field(default=16, gt=0)
    requests_per_minute: float | None = Field(default=None, gt=0)
    max_retries: int = Field(default=8, ge=0)
    """Of a request that failed on the way, was too many, or met a server's error; with back-off."""
    timeout_s: float = Field(default=300, gt=0)
    usd_per_million_prompt: float = Field(default=0.0, ge=0)
    usd_per_million_completion: float = Field(default=0.0, ge=0)
    """Prices per million tokens."""
    max_usd: float | None = Field(default=None, gt=0)
    """Stop when a stage has spent so much on it, over all its tries."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """More fields of each request, such as `chat_template_kwargs`."""

    def without_limits(self) -> EndpointParams:
        """The same but for how much, how fast and how patiently it is asked, which decides no answer."""
        limits = ("max_in_flight", "requests_per_minute", "max_retries", "timeout_s", "max_usd")
        return self.model_copy(update={name: EndpointParams.model_fields[name].default for name in limits})


class TeacherParams(Section):
    """Teacher rollouts."""

    policy: Literal["scripted", "endpoint"] = "scripted"
    """Who teaches; `scripted` is MiniWoB++'s oracle, `endpoint` a model by its API."""
    endpoint: EndpointParams | None = None
    temperature: float = Field(default=1.0, ge=0)
    """Of a model that teaches."""
    tasks: int = Field(gt=0)
    """Tasks of the SFT pool that the teacher tries."""
    attempts: int = Field(default=4, gt=0)
    noise: float = Field(default=0.2, ge=0, le=1)
    """Probability per episode that the scripted teacher makes a mistake, so that some attempts fail."""
    max_steps: int = Field(default=8, gt=0)

    @model_validator(mode="after")
    def _endpoint_named(self) -> TeacherParams:
        if self.policy == "endpoint" and self.endpoint is None:
            raise ValueError("teacher.policy = endpoint needs teacher.endpoint with a url and a model")
        return self


class CurateParams(Section):
    """From labelled teacher trajectories to the SFT set (OpenWebRL, section 4.2)."""

    max_trajectories: int = Field(gt=0)
    max_per_website: int = Field(gt=0)


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
