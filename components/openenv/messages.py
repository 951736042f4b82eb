"""What client and server exchange: the actions, observations and states of OpenEnv with the fields of a web agent.

`/schema` publishes these models.
"""

from __future__ import annotations

import base64
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from components.records import Image, Observation, Termination, Trajectory, Verdict


class Message(BaseModel):
    """Base of all messages. An unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


class Call(Message):
    """A call of one tool."""

    name: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class WebAction(Message):
    """One turn of the agent: its calls, or its whole response as text. Give exactly one of `calls` and `response`."""

    calls: list[Call] = Field(default_factory=list)
    """Calls of the recipe's tools, which run in this order."""
    thought: str = ""
    """The reasoning before the calls, which later prompts may repeat."""
    response: str | None = None
    """The text of a model in the format of the recipe's protocol, with its reasoning and its calls."""
    finish_reason: Literal["stop", "length"] = "stop"
    """`length` if the limit of tokens cut the response."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """Ignored; every action of OpenEnv has it."""

    @model_validator(mode="after")
    def _calls_or_response(self) -> Self:
        if bool(self.calls) == (self.response is not None):
            raise ValueError("give either `calls`, at least one, or `response`")
        return self


class PageTab(Message):
    """A tab of the browser."""

    index: int
    title: str
    url: str
    active: bool


class WebObservation(Message):
    """The page after an action, with the reward.

    After the episode's end it has the last screenshot and feedback, and no text.
    """

    done: bool = False
    reward: float | None = None
    """After the last action as in RL: 1 for success, 0 for failure, less after repeated format errors; None if the
    episode says nothing about the agent, because the environment ended it or no rule could judge it. 0 after other
    actions, None after a reset."""
    instruction: str
    """The task in words."""
    url: str
    tabs: list[PageTab] = Field(default_factory=list)
    viewport: tuple[int, int] | None = None
    """Width and height in pixels. Coordinates of calls are 0 to 1000 on both axes, whatever the viewport is."""
    screenshot: str | None = None
    """A PNG in base64."""
    text: str | None = None
    """The page as text, if the recipe has `observation.text`: a list of elements, an accessibility tree or HTML."""
    feedback: list[str] = Field(default_factory=list)
    """What each call of the last action did, one line per call."""
    messages: list[dict[str, Any]] | None = None
    """The recipe's prompt for this turn as OpenAI's chat messages, if the reset asked for it."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """The task's id and, after the end, what `result_of` says."""


class WebState(Message):
    """The state of a session."""

    episode_id: str | None = None
    step_count: int = 0
    """Number of actions in this episode."""
    task_id: str | None = None
    split: str | None = None
    termination: Termination | None = None
    """How the episode ended; None while it runs."""


class ResetRequest(Message):
    """The arguments of a reset, which choose the task: by `task_id`, by `split` and `index`, or at random by `seed`."""

    seed: int | None = Field(default=None, ge=0)
    episode_id: str | None = Field(default=None, max_length=255)
    split: str | None = None
    index: int | None = None
    """The task's place in its split."""
    task_id: str | None = None
    messages: bool = False
    """Whether observations have the recipe's prompt, with all its screenshots."""
    screenshot: bool = True
    """Whether observations have the screenshot. Some clients, such as that of verifiers, put a whole observation into
    the prompt of a text model."""
    policy: str = "client"
    """The name of the client's policy, which recorded trajectories have."""

    @model_validator(mode="after")
    def _names_one_task(self) -> Self:
        if self.task_id is not None and (self.split is not None or self.index is not None):
            raise ValueError("`task_id` names the task: leave out `split` and `index`")
        return self


def encoded(image: Image | None) -> str | None:
    """An image in base64; None if there is none."""
    return base64.b64encode(image.data).decode() if image is not None and image.data else None


def page_of(observation: Observation) -> dict[str, Any]:
    """The fields of `WebObservation` that describe a page, without its screenshot."""
    return {
        "url": observation.url,
        "tabs": [PageTab(**tab.model_dump()) for tab in observation.tabs],
        "viewport": observation.viewport,
        "text": observation.text,
    }


def result_of(trajectory: Trajectory, verdict: Verdict | None, success: bool | None) -> dict[str, Any]:
    """What `metadata` says of an episode that has ended. `missing` and `side_effects` are the expected effects that are
    not there and the changes that were not asked for, in a world with state."""
    check = trajectory.state_check
    return {
        "termination": str(trajectory.termination),
        "success": success,
        "rationale": _rationale(trajectory, verdict),
        "missing": check.missing if check is not None else None,
        "side_effects": check.side_effects if check is not None else None,
        "answer": trajectory.answer,
        "trajectory_id": trajectory.trajectory_id,
    }


def _rationale(trajectory: Trajectory, verdict: Verdict | None) -> str | None:
    if trajectory.late_actions:
        return f"{trajectory.late_actions} actions after the page had ended its task"
    return verdict.rationale if verdict is not None else trajectory.diagnostics.get("error")
