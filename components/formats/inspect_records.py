"""The records of a log of inspect_ai, as far as they are written: `EvalLog`, version 2, in its JSON form.

The names are inspect_ai's (MIT). Fields that are not here have its defaults; those that are None are left out.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

VERSION = 2


class Part(BaseModel):
    """A base of all records of a log."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), ser_json_inf_nan="constants")


class Content(Part):
    """A part of a message: the field of its type holds it. An image is a data URI."""

    type: Literal["text", "reasoning", "image"]
    text: str | None = None
    reasoning: str | None = None
    image: str | None = None


class Call(Part):
    """A tool call. `parse_error` says why it could not be read or executed."""

    id: str
    function: str
    arguments: dict[str, Any]
    parse_error: str | None = None
    type: Literal["function"] = "function"


class Message(Part):
    """A message: pages are the user's, responses the assistant's, feedback the tools'."""

    id: str
    role: Literal["user", "assistant", "tool"]
    content: str | list[Content]
    source: Literal["input", "generate"] | None = None
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None
    function: str | None = None
    model: str | None = None


class Usage(Part):
    """Tokens of a model."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0


class Choice(Part):
    """The answer as the model's last word."""

    message: Message
    stop_reason: Literal["stop"] = "stop"


class Output(Part):
    """The answer of `done`; no choice without one."""

    model: str
    choices: list[Choice] = Field(default_factory=list)
    completion: str = ""


class Score(Part):
    """A score: `C` or `I` of a verdict, a number of a site's reward."""

    value: str | float
    answer: str | None = None
    explanation: str | None = None
    metadata: dict[str, Any] | None = None


class Error(Part):
    """Why the environment ended an episode."""

    message: str
    traceback: str = ""
    traceback_ansi: str = ""


class Limit(Part):
    """The step budget that ran out."""

    type: Literal["turn"] = "turn"
    limit: float


class Sample(Part):
    """An episode."""

    id: str
    epoch: int
    input: str
    target: str
    messages: list[Message]
    output: Output
    scores: dict[str, Score] | None = None
    metadata: dict[str, Any]
    model_usage: dict[str, Usage]
    error: Error | None = None
    limit: Limit | None = None
    turn_count: int


class Metric(Part):
    """A figure over the samples."""

    name: str
    value: float


class ScoreResults(Part):
    """A scorer's figures, over tasks."""

    name: str
    scorer: str
    scored_samples: int
    unscored_samples: int
    metrics: dict[str, Metric]


class Results(Part):
    """The figures of a log."""

    total_samples: int
    completed_samples: int
    scores: list[ScoreResults]


class Dataset(Part):
    """The tasks."""

    name: str
    samples: int
    sample_ids: list[str]
    shuffled: bool = False


class Config(Part):
    """`epochs` is the largest number of episodes of one task."""

    epochs: int


class MetricDefinition(Part):
    """A metric of inspect_ai by its registered name."""

    name: str


class Scorer(Part):
    """A scorer with its metrics."""

    name: str
    metrics: list[MetricDefinition]


class Spec(Part):
    """What was evaluated."""

    eval_id: str
    run_id: str
    created: str
    task: str
    task_id: str
    dataset: Dataset
    model: str
    config: Config
    packages: dict[str, str]
    metadata: dict[str, Any]
    scorers: list[Scorer]


class Stats(Part):
    """Tokens of all samples. Both times are that of the export: an episode's own is not known."""

    started_at: str
    completed_at: str
    model_usage: dict[str, Usage]


class Header(Part):
    """A log without its samples, in the order in which inspect_ai reads it without them."""

    version: int = VERSION
    status: Literal["success"] = "success"
    eval: Spec
    plan: dict[str, Any] = Field(default_factory=dict)
    results: Results
    stats: Stats
