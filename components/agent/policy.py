"""The interface of a policy: it answers a prompt with sampled token ids and their log-probabilities."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from components.agent.rendering import Prompt
from components.params import SamplingParams
from components.records import Observation, Turn


class RequestClock:
    """The time limits of a request. A policy stops them while no server is available to answer."""

    def __init__(self, *limits: asyncio.Timeout) -> None:
        self._limits = limits

    @contextmanager
    def stopped(self, since: float | None = None) -> Iterator[None]:
        """The time spent within does not count; nor does the time from `since` on (seconds of the event loop's
        clock)."""
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
    """One request to a policy. `prompt` was rendered from `turns`; `seed` determines all sampling."""

    prompt: Prompt
    turns: tuple[Turn, ...]
    sampling: SamplingParams
    max_tokens: int
    seed: int
    clock: RequestClock = field(default_factory=RequestClock, compare=False, repr=False)
    observation: Observation | None = field(default=None, compare=False, repr=False)
    """The page that the prompt shows last; None outside of an episode."""


class RequestRefusedError(Exception):
    """The policy refuses this request for good, or to answer it in full, and may answer others
    (`Termination.REQUEST_REFUSED`)."""


@dataclass(frozen=True)
class Work:
    """What a response took of the policy's time, in seconds. Work for several responses at once counts for each in
    equal parts, so the sum over all responses is at most the time in which the policy worked."""

    vision_s: float = 0.0
    """Encoding the images of the prompt."""
    prefill_s: float = 0.0
    """Reading the prompt, without its images."""
    decode_s: float = 0.0
    """Sampling the tokens after the first."""


@dataclass(frozen=True)
class Completion:
    """A response.

    A scripted policy and an endpoint know neither ids nor log-probabilities: both lists are empty.
    """

    token_ids: list[int]
    logprobs: list[float]
    """Of the sampled distribution (after temperature, top-p and top-k), in nats, one per id."""
    text: str
    finish_reason: Literal["stop", "length"]
    tokens: int | None = None
    """Number of tokens that an endpoint wrote."""
    usd: float | None = None
    """Cost of an endpoint's answer."""
    work: Work | None = field(default=None, compare=False)
    """What it took of the policy's time; None if the policy does not know, as with servers."""


class Policy(Protocol):
    """Answers prompts. `version` names the weights and is part of trajectory ids."""

    version: str

    def prompt_tokens(self, prompt: Prompt) -> int:
        """Number of tokens of a prompt, for the context limit."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Sample a response. Equal requests get equal responses. `request.clock` is stopped while no server can
        answer.

        Raises:
            RequestRefusedError: the policy refuses this request. It ends the episode.
            Exception: any other error concerns all requests. It ends the stage.
        """
        ...
