"""What all protocols share: the function that asks a model, messages, the ruling."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, NamedTuple, Protocol, TypeVar

from components.agent.rendering import plain
from components.endpoint import Answer, Message, image_part, text_part
from components.records import ErrorCause, Image, Outcome, ProcessReport, Trajectory

T = TypeVar("T")

ENDING = """Then end with one line, either
Verdict: SUCCESS
or
Verdict: NOT SUCCESS"""


class Ask(Protocol):
    """Asks a model. The caller of the protocol controls decoding, limits, retries and cost."""

    def __call__(self, messages: list[Message], response_format: Message | None = None) -> Awaitable[Answer]:
        """The model's answer to the messages."""


class Ruling(NamedTuple):
    """A decision on a trajectory. A protocol's is an error only where a task lacks what it needs; a failed request
    raises."""

    outcome: Outcome
    rationale: str
    process: ProcessReport | None = None
    """How the agent worked, by protocols that judge it apart from the outcome."""
    error_cause: ErrorCause | None = None
    """None unless the outcome is an error. A protocol's error without a cause is `no_rule`."""


class Questions(NamedTuple):
    """What a protocol asks about one trajectory at most."""

    requests: int
    screenshots: int
    """In all requests together."""


FACTS = 4
"""So many facts or criteria of a task are assumed where none is at hand; WebGym's tasks of medium difficulty have 4 to
6."""


def ask_once(screenshots: int) -> Callable[[int], Questions]:
    """One request with at most so many of the trajectory's pages."""
    return lambda pages: Questions(1, min(screenshots, pages))


class JudgeProtocol(NamedTuple):
    """A protocol: `judge` may ask several times; `prompts` are its texts, whose hash is its version. `questions` says
    what it asks at most about a trajectory with a number of pages, the last one included."""

    judge: Callable[[Trajectory, Ask], Awaitable[Ruling]]
    prompts: tuple[str, ...]
    questions: Callable[[int], Questions] = ask_once(1)


def question(system: str, *parts: str | Image) -> list[Message]:
    """A system message and a user message. Control tokens in text of pages, tasks and agents are escaped."""
    content = [text_part(plain(part)) if isinstance(part, str) else image_part(part) for part in parts]
    if not any(isinstance(part, Image) for part in parts):
        return [
            {"role": "system", "content": system},
            {"role": "user", "content": "\n".join(part["text"] for part in content)},
        ]
    return [{"role": "system", "content": system}, {"role": "user", "content": content}]


def cut(answer: Answer) -> bool:
    """Whether the answer hit its token limit."""
    return answer.finish_reason == "length"


async def results_of(questions: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of coroutines that run at the same time, in order.

    Raises:
        Exception: the first error of one of them, with its cause. The others are cancelled, because their answers would
            be paid for a verdict that does not come.
    """
    failure: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(question) for question in questions]
    except BaseExceptionGroup as errors:
        failure = errors.exceptions[0]
    if failure is not None:
        raise failure  # in the `except` it would lose its context, and with `from None` its cause
    return [task.result() for task in tasks]
