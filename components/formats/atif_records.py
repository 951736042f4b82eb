"""The records of ATIF, the Agent Trajectory Interchange Format of Harbor (RFC 0001), version 1.8, as far as used here.

Reading ignores fields that are not here; writing leaves out those that are None, because ATIF refuses unknown fields.
Trajectories of subagents within a document are not followed.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

VERSION = "ATIF-v1.8"
PREFIX = "ATIF-v1."


class Part(BaseModel):
    """A base of all records of ATIF."""

    model_config = ConfigDict(extra="ignore", frozen=True, ser_json_inf_nan="constants")


class ImageSource(Part):
    """An image's type and its path beside the file of the trajectory."""

    media_type: str
    path: str


class Content(Part):
    """A part of a message or result: `text`, or an image in `source`. Audio is ignored."""

    type: Literal["text", "image", "audio"]
    text: str | None = None
    source: ImageSource | None = None


class AtifCall(Part):
    """One call of a tool."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class Subagent(Part):
    """Another agent's trajectory, in a file of its own if it has a path."""

    trajectory_path: str | None = None


class Result(Part):
    """What a call returned (`source_call_id`), or what the environment showed without one."""

    source_call_id: str | None = None
    content: str | list[Content] | None = None
    subagent_trajectory_ref: list[Subagent] | None = None
    extra: dict[str, Any] | None = None


class Results(Part):
    """What follows a step, in order."""

    results: list[Result]


class Metrics(Part):
    """Tokens of a step: `completion_token_ids` were sampled with `logprobs`, in nats, one per id."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None


class Step(Part):
    """A message of a user or the system, or one response of the agent with what followed."""

    step_id: int
    source: Literal["system", "user", "agent"]
    message: str | list[Content]
    reasoning_content: str | None = None
    tool_calls: list[AtifCall] | None = None
    observation: Results | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None
    extra: dict[str, Any] | None = None


class Agent(Part):
    """The agent's system, and its model."""

    name: str
    version: str
    model_name: str | None = None


class FinalMetrics(Part):
    """Sums over the steps."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_steps: int | None = None


class Document(Part):
    """A trajectory."""

    schema_version: str = Field(pattern=r"^ATIF-v1\.\d+$")
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: Agent
    steps: list[Step]
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    """The file in which the trajectory goes on."""
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Document:
        for number, step in enumerate(self.steps, start=1):
            if step.step_id != number:
                raise ValueError(f"steps.{number - 1}.step_id is {step.step_id}, not {number}: steps are missing")
        return self


def texts(content: str | list[Content] | None) -> str:
    """The text of a message or result, parts joined by line ends."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.text for part in content if part.text is not None)


def pictures(content: str | list[Content] | None) -> list[ImageSource]:
    """The images of a message or result, in order."""
    if not isinstance(content, list):
        return []
    return [part.source for part in content if part.type == "image" and part.source is not None]
