"""Any OpenAI-compatible endpoint as a policy: a teacher of 235B behind vLLM, or somebody's API.

Retries with back-off are the client library's, the rate limit is `aiolimiter`'s. What was spent is counted in a file of
the stage's state, so that a budget holds over interrupted tries. An endpoint's tokens mean nothing to our tokenizer:
completions have no ids, and training tokenizes their text.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import openai
from aiolimiter import AsyncLimiter
from PIL import Image as PILImage

from components.agent.policy import Completion, Request
from components.agent.rendering import Prompt, Response, Text
from components.params import EndpointParams
from components.policies.chat import as_messages
from components.records import Image
from components.secrets import redacted
from components.store import read_json, write_json

CHARACTERS_PER_TOKEN = 3.5
PIXELS_PER_TOKEN = 32 * 32


class EndpointError(RuntimeError):
    """The endpoint refuses, does not answer, or would cost more than the recipe allows."""


@dataclass
class Spent:
    """What was asked of an endpoint so far."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0


class EndpointPolicy:
    """An async context manager, and a policy inside of it. `version` is the model's name."""

    def __init__(self, params: EndpointParams, ledger: Path) -> None:
        """
        Args:
            ledger: the file that what was spent is counted in.
        """
        self.version = params.model
        self._params = params
        self._ledger = ledger
        self.spent = Spent(**read_json(ledger)) if ledger.exists() else Spent()
        self._at_once = asyncio.Semaphore(params.max_in_flight)
        rate = params.requests_per_minute
        self._rate = AsyncLimiter(max(1, rate / 60), 60 / rate * max(1, rate / 60)) if rate is not None else None
        self._client: openai.AsyncOpenAI | None = None

    async def __aenter__(self) -> EndpointPolicy:
        """Connect.

        Raises:
            EndpointError: the key is not in the environment.
        """
        variable = self._params.key_variable
        if variable is not None and not os.environ.get(variable):
            raise EndpointError(
                f"the environment variable {variable} holds no key for {self._params.model}: set it, or set "
                "key_variable to null if the endpoint wants none"
            )
        self._client = openai.AsyncOpenAI(
            base_url=self._params.url,
            api_key=os.environ[variable] if variable is not None else "none",
            max_retries=self._params.max_retries,
            timeout=self._params.timeout_s,
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._client is not None:
            await self._client.close()

    def prompt_tokens(self, prompt: Prompt) -> int:
        """An estimate: the endpoint's tokenizer is not ours."""
        total = 0.0
        for segment in prompt.segments:
            match segment:
                case Text() | Response():
                    total += len(segment.text) / CHARACTERS_PER_TOKEN
                case Image():
                    width, height = PILImage.open(io.BytesIO(segment.data)).size
                    total += width * height / PIXELS_PER_TOKEN
        return round(total)

    async def complete(self, request: Request) -> Completion:
        """Sample a response.

        Raises:
            EndpointError: it is refused, fails after all retries, or the budget is spent.
        """
        if self._client is None:
            raise RuntimeError("ask an EndpointPolicy inside of `async with`")
        params, sampling = self._params, request.sampling
        extra = dict(params.extra)
        if sampling.top_k:
            extra["top_k"] = sampling.top_k
        async with self._turn():
            if params.max_usd is not None and self.spent.usd >= params.max_usd:
                raise EndpointError(
                    f"{params.model} has cost {self.spent.usd:.2f} USD, max_usd is {params.max_usd:.2f}: what is done "
                    "is kept; raise max_usd and run again to go on"
                )
            try:
                answer = await self._client.chat.completions.create(
                    model=params.model,
                    messages=as_messages(request.prompt),  # type: ignore[arg-type]
                    temperature=sampling.temperature,
                    top_p=sampling.top_p,
                    max_completion_tokens=request.max_tokens,
                    seed=request.seed,
                    extra_body=extra,
                )
            except openai.OpenAIError as error:
                raise EndpointError(
                    f"{params.model} at {redacted(params.url)} failed for good ({type(error).__name__}, max_retries is "
                    f"{params.max_retries}): {redacted(str(error))}; what is done is kept, run again to go on"
                ) from error
        self._count(answer.usage)
        choice = answer.choices[0]
        return Completion([], [], _text(choice.message), "length" if choice.finish_reason == "length" else "stop")

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        async with self._at_once:
            if self._rate is not None:
                await self._rate.acquire()
            yield

    def _count(self, usage: Any) -> None:
        params, spent = self._params, self.spent
        read, written = (usage.prompt_tokens, usage.completion_tokens) if usage is not None else (0, 0)
        spent.requests += 1
        spent.prompt_tokens += read
        spent.completion_tokens += written
        spent.usd += (read * params.usd_per_million_prompt + written * params.usd_per_million_completion) / 1e6
        write_json(self._ledger, asdict(spent))


def _text(message: Any) -> str:
    """What the model said, with what it thought before where the server tells the two apart."""
    thought = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
    said = message.content or ""
    return f"<think>\n{thought.strip()}\n</think>\n\n{said}" if thought else said
