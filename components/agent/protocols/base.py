"""The interface of a protocol: prompt, parser and context rule as data, so that no other module names a protocol."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from components.agent.grammar import Parsed
from components.browser.tools import ALL_TOOLS, check_call
from components.params import AgentParams, ObservationParams
from components.records import Image, Observation, Task, ToolCall, Turn


@dataclass(frozen=True)
class TurnContext:
    """What a prompt is made from: the task, the `turns` so far, and the `current` observation."""

    agent: AgentParams
    observation: ObservationParams
    task: Task
    turns: list[Turn]
    current: Observation


@dataclass(frozen=True)
class Message:
    """One message: text and images of the user, or the response of an earlier turn, as it was recorded or a part of its
    text."""

    parts: tuple[str | Image | Turn, ...]
    is_excerpt: bool = False
    """Whether the message is a part of the text of an earlier response."""

    @property
    def is_response(self) -> bool:
        """Whether the message is an earlier response as it was recorded."""
        return len(self.parts) == 1 and isinstance(self.parts[0], Turn)


class Write(typing.Protocol):
    """Writes the response that a policy should give: the thought, the calls, and a note.

    Protocols with a memory keep the note there: what is worth remembering of this page, or of all pages so far if a
    response rewrites the memory (`Protocol.rewrites_memory`).

    Raises:
        ValueError: the protocol cannot express a call.
    """

    def __call__(self, thought: str, calls: list[ToolCall], note: str = "") -> str:
        """The response as text."""


@dataclass(frozen=True)
class History:
    """What prompts have of earlier turns, as numbers from which a plan counts their tokens. The defaults are those of a
    conversation that grows."""

    responses: bool = True
    """Whether a prompt repeats every earlier response."""
    line: int | None = None
    """Tokens that every earlier turn has besides; None: its feedback and the lines of its page, by `agent`."""
    memory: float = 0.0
    """The memory that a prompt repeats, as a share of the last response: an assumption. With a memory, a prompt has the
    feedback of the last calls, too."""
    observations: bool = False
    """Whether a prompt shows the last K observations (`observation.screenshots`), or the current one alone."""


@dataclass(frozen=True)
class Protocol:
    """What an agent sees, and how it answers."""

    name: str
    system: Callable[[AgentParams], str]
    """The system prompt."""
    context: Callable[[TurnContext], list[Message]]
    """The messages after the system prompt, with what is repeated of earlier turns."""
    parse: Callable[[str], Parsed]
    """Parses a response. Never raises."""
    reminder: str
    """Part of the feedback after an unparsable turn: what a response looks like."""
    write: Write
    """The inverse of `parse`, for teachers."""
    element_ids: bool = False
    """Whether calls name elements by id. Prompts then have no screenshots, and a recipe needs `observation.text` to be
    `axtree` or `html`."""
    thinks: bool = True
    """Whether responses begin with `<think>`, which the chat template of a Thinking model opens itself."""
    rewrites_memory: bool = False
    """Whether the note of a response is all that later turns know of earlier ones."""
    history: History = History()
    """What `context` repeats of earlier turns, for plans."""


def element_call(name: str, **arguments: Any) -> ToolCall:
    """A call of any tool, also of those on element ids, with its arguments checked."""
    return check_call(name, arguments, ALL_TOOLS)


def page_lines(agent: AgentParams, observation: Observation) -> list[str]:
    """The page's address; with the `full` prompt, also viewport and tabs."""
    if agent.prompt == "compact":
        return [f"URL: {observation.url}"]
    width, height = observation.viewport
    tabs = [f"{'*' if tab.active else ' '}[{tab.index}] {tab.title} ({tab.url})" for tab in observation.tabs]
    return [f"URL: {observation.url}", f"Viewport: {width}x{height}", "Tabs:", *tabs]


def observation_parts(observation: Observation) -> list[str | Image]:
    """A whole observation: the screenshot, then the text, if it has one."""
    return [observation.screenshot, *(["\n" + observation.text] if observation.text is not None else [])]
