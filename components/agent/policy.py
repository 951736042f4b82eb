"""What a policy is: something that answers a prompt with sampled ids and their log-probabilities."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from components.agent.rendering import Prompt
from components.params import SamplingParams
from components.records import Turn


class Clock:
    """The time limits of a request, which stand still while there is nobody to answer it."""

    def __init__(self, *limits: asyncio.Timeout) -> None:
        self._limits = limits

    @contextmanager
    def stopped(self, since: float | None = None) -> Iterator[None]:
        """No time passes within, nor did any from `since` on, by the event loop's time."""
        now = asyncio.get_running_loop().time
        begin = now() if since is None else since
        ends = [(limit, end) for limit in self._limits if (end := limit.when()) is not None and not limit.expired()]
        for limit, _ in ends:
            limit.reschedule(None)
        try:
            yield
        finally:
            for limit, end in ends:
                limit.reschedule(end + now() - begin)


@dataclass(frozen=True)
class Request:
    """One question to a policy. `turns` are those that `prompt` was rendered from; `seed` decides every draw."""

    prompt: Prompt
    turns: tuple[Turn, ...]
    sampling: SamplingParams
    max_tokens: int
    seed: int
    clock: Clock = field(default_factory=Clock, compare=False, repr=False)


@dataclass(frozen=True)
class Completion:
    """A response. `logprobs` are of the sampled distribution (after temperature, top-p, top-k), in nats, one per id.

    A scripted policy has neither ids nor log-probabilities: both lists are empty. So has an endpoint's answer, of which
    `tokens` were written, for `usd`.
    """

    token_ids: list[int]
    logprobs: list[float]
    text: str
    finish_reason: Literal["stop", "length"]
    tokens: int | None = None
    usd: float | None = None


class Policy(Protocol):
    """Answers prompts. `version` names the weights: it goes into trajectory ids."""

    version: str

    def prompt_tokens(self, prompt: Prompt) -> int:
        """Tokens of a prompt, for the context limit."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Sample a response, the same for the same request, whose clock is stopped while nobody can give one."""
        ...
