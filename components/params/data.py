"""The sections of the data: tasks, endpoints, and the teacher's trajectories that SFT keeps."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from components.params.harness import HostPattern
from components.params.section import NoEffect, Section, Steps

ROUNDING = 1e-4
"""More than the rounding of cosines: a threshold that is nearer to 1 does not say whether equal texts are similar."""


class TaskFile(Section):
    """A file of tasks. In `tasks.files`, a path alone stands for a file with the defaults."""

    path: str
    """The file."""
    split: Literal["train", "rl", "eval", "heldout", "validation"] | None = None
    """The split of its tasks; `rl` tasks are trained on by RL alone, without demonstrations. null follows the schema:
    `eval` for benchmarks, `train` for training sets, and for rows in Waymark's schema the `split` of each row. PAE has
    the columns of WebVoyager, and WebArena-Lite's training tasks have those of WebArena: both need `train` here."""
    answers: str | None = None
    """The path of WebVoyager's reference answers, which are joined by id."""


def _task_file(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


class HorizonParams(Section):
    """Step budgets by difficulty (WebGym, section 5.3: 10, 20 and 30 in its best run, 15, 30 and 45 before)."""

    easy: Steps = Field(default=10, gt=0)
    """Steps of a task with one to three facts."""
    medium: Steps = Field(default=20, gt=0)
    """Steps of a task with four to six facts."""
    hard: Steps = Field(default=30, gt=0)
    """Steps of a task with more facts."""

    @model_validator(mode="after")
    def _harder_is_longer(self) -> HorizonParams:
        if not self.easy <= self.medium <= self.hard:
            raise ValueError(
                f"easy, medium and hard must not decrease, these are {self.easy}, {self.medium}, {self.hard}"
            )
        return self


class TaskParams(Section):
    """Tasks from files. The section `worlds` gives the tasks of the run's worlds."""

    files: list[Annotated[TaskFile, BeforeValidator(_task_file)]] = Field(default_factory=list)
    """JSONL, JSON or Parquet task files in the schemas of `components/tasks/rows`. A missing file is an error, because
    training tasks are compared with every evaluation set. Only a missing file with `split: train` or `rl` is skipped,
    with a message. DVC sees changes of files in `data/task_files`."""
    sites: dict[str, str] = Field(default_factory=dict)
    """Addresses of the user's own sites by name: `{shopping: "http://shop.example:7770"}` replaces `__SHOPPING__` in
    WebArena's tasks, and `wikipedia` replaces `__WIKIPEDIA__` in questions."""
    check_start_pages: bool = True
    """Request the start page of each task from a file before the task costs anything. Tasks whose start page does not
    answer are left out, and do not count as rejected rows (`quality.max_rejected`); without any answer the stage
    fails."""
    horizon: HorizonParams | None = None
    """Step budgets of training tasks whose number of facts is known; with null, all have the phase's `max_steps`."""


class FilterParams(Section):
    """Filters that drop tasks before the tasks cost anything (OpenWebRL, section 4.2)."""

    overlap_threshold: float | None = Field(default=None, gt=0, le=1)
    """Cosine of the intents' embeddings (`dedup.embedder`) above which a task overlaps with an evaluation task. null
    compares only ids and words."""
    drop_decomposed: bool = True
    """Drop tasks that were made by decomposing another task."""
    drop_login: bool = False
    """Drop tasks that need a login by their source or by their wording. All tasks of WebArena need one: keep false if
    you run its sites yourself."""
    blocked_websites: list[HostPattern] = Field(default_factory=list)
    """Drop tasks of these websites, by the website of the task or by the host of its start page, which may have a
    port."""
    min_tasks_per_website: int = Field(default=1, ge=1)
    """Websites with fewer tasks are dropped (the long tail)."""


class DedupParams(Section):
    """Greedy deduplication. A task is dropped if its cosine similarity to a kept task is above the threshold.

    The cosine of equal texts is 1 up to rounding, which differs between machines. So a threshold is either below it,
    such as 0.999 (equal words are duplicates), or above it, such as 1.01 (no task is a duplicate, and no intent is
    embedded).
    """

    embedder: str = "minilm"
    """`minilm` (all-MiniLM-L6-v2 from PyPI) or a sentence-transformers name or path."""
    sft_threshold: float = Field(gt=0, le=1.01)
    """Cosine similarity above which a task of the pool for SFT is a duplicate."""
    rl_threshold: float = Field(gt=0, le=1.01)
    """The same for the pool for RL."""
    max_similar: int = Field(default=1, ge=1)
    """A task is dropped if this number of kept tasks is above the threshold. 1 is the rule of the paper. Pages that are
    generated from a seed share one wording, so the demo keeps several tasks of each."""
    per_website: bool = False
    """Compare only tasks of the same website."""

    @field_validator("sft_threshold", "rl_threshold")
    @classmethod
    def _is_not_decided_by_rounding(cls, threshold: float) -> float:
        if abs(threshold - 1) < ROUNDING:
            raise ValueError(
                "the cosine of equal texts is 1 up to rounding, which would decide: "
                "write 1.01 (no task is a duplicate) or 0.999 (equal words are)"
            )
        return threshold

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
    """The address of the endpoint, up to and including `/v1`."""
    model: str
    """The name of the model there."""
    key_variable: str | None = "OPENAI_API_KEY"
    """The environment variable with the API key; null if the endpoint needs no key."""
    max_in_flight: Annotated[int, NoEffect] = Field(default=16, gt=0)
    """Requests at the same time."""
    requests_per_minute: Annotated[float | None, NoEffect] = Field(default=None, gt=0)
    """Highest rate of requests; null sets no limit."""
    max_retries: Annotated[int, NoEffect] = Field(default=8, ge=0)
    """Retries of a request after a network error, a rate limit or a server error, with back-off."""
    timeout_s: Annotated[float, NoEffect] = Field(default=300, gt=0)
    """Limit of one request in seconds."""
    usd_per_million_prompt: float = Field(default=0.0, ge=0)
    """Price of a million tokens of prompts in US dollars."""
    usd_per_million_completion: float = Field(default=0.0, ge=0)
    """Prices per million tokens."""
    max_usd: Annotated[float | None, NoEffect] = Field(default=None, gt=0)
    """A stage stops when it has spent this amount on the endpoint, over all attempts. It needs the prices."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Additional fields of each request, such as `chat_template_kwargs`. A field with null is left out of the requests,
    for models that accept no value: `{temperature: null, top_p: null}`."""

    @field_validator("url")
    @classmethod
    def _is_web_address(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://, such as https://api.openai.com/v1")
        return url

    @model_validator(mode="after")
    def _has_prices_for_a_limit(self) -> EndpointParams:
        if self.max_usd is not None and self.usd_per_million_prompt == self.usd_per_million_completion == 0:
            raise ValueError(
                f"max_usd = {self.max_usd:g} stops nothing without prices: set usd_per_million_prompt and "
                "usd_per_million_completion, or leave max_usd out"
            )
        return self


class CurateParams(Section):
    """Selection of the SFT set from labelled teacher trajectories (OpenWebRL, section 4.2)."""

    max_trajectories: int = Field(gt=0)
    """Trajectories that SFT trains on, at most."""
    max_per_website: int = Field(gt=0)
    """The same for each website; on generated worlds a family counts as one."""
    demonstrations: list[str] = Field(default_factory=list)
    """Parquet files of demonstrations by people (`waymark run --teacher human`), which are added to the selection,
    whatever the two limits are. DVC sees changes of files in `data/demonstrations`."""


class QualityParams(Section):
    """Quality limits of the tables. A stage fails if its output is outside of them."""

    max_rejected: float = Field(default=0.05, ge=0, le=1)
    """Share of task rows that may be rejected before collect_tasks fails. Tasks whose start page does not answer
    (`tasks.check_start_pages`) are left out, too, but do not count here."""
    min_positive: float = Field(default=0.02, ge=0, le=1)
    """Least share of successes among labelled trajectories; with fewer the stage fails."""
    max_positive: float = Field(default=0.99, ge=0, le=1)
    """Bounds on the share of successes among labelled trajectories."""
    max_unanswered: float = Field(default=0.25, ge=0, le=1)
    """Largest share of finished trajectories without a label because the judge's endpoint refused the request, did not
    answer, or gave an answer without a clear verdict; with more the stage that labels fails. Its next run asks about
    those without an answer again."""
    max_aborted: float = Field(default=0.5, ge=0, le=1)
    """Largest share of the episodes of teacher_rollouts and of judge_rollouts that the environment may end; with more
    the stage fails, and its next run tries those again. Evaluations have `evaluation.max_aborted`."""

    @model_validator(mode="after")
    def _bounds_in_order(self) -> QualityParams:
        if self.min_positive > self.max_positive:
            raise ValueError(f"min_positive = {self.min_positive} must not exceed max_positive = {self.max_positive}")
        return self
