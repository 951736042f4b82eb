"""The one client of models behind OpenAI-compatible endpoints: teachers, judges, whoever proposes rubrics.

    async with Endpoint(params, ledger=state / "spent.json", answers=ANSWERS) as endpoint:
        answer = await endpoint.ask([{"role": "user", "content": "…"}], max_tokens=512)

- Concurrency is a semaphore, the rate limit `aiolimiter`'s, retries with back-off and jitter the client library's.
- The ledger counts what was spent, in a file of the stage's state, so that a budget holds over interrupted tries.
- `answers` is a file (SQLite) of answers by content: whoever asks the same again, after a crash or in another stage,
  gets the answer that was paid for. Content is endpoint, model, messages with their images, decoding and seed. An
  answer is there whole or not at all.

Errors say whose doing they are: `EndpointDown` may pass, `RequestRefused` is about this one request, `BudgetSpent` and
the others need somebody to change something.

Accepted trade-offs: a budget may be overrun by what is in flight when it is reached; prices are the recipe's, since
endpoints name none; an endpoint that serves other weights under the same name needs the file of answers removed.
Streaming and tools are out of scope.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import openai
from aiolimiter import AsyncLimiter
from openai.types.chat import ChatCompletion
from pydantic import ValidationError

from components.params import EndpointParams
from components.records import Image, Record
from components.secrets import redacted
from components.store import STATE, read_json, write_json

ANSWERS = STATE / "answers.sqlite"
"""Where stages keep what endpoints answered. No DVC output and no stage's state: `waymark clean` leaves it."""

_CUT = ("length", "content_filter")
"""Why an answer may lack its end."""

Message = dict[str, Any]
"""A message of OpenAI's chat API."""


class EndpointError(RuntimeError):
    """The endpoint cannot be used as it is: no key, a wrong one, a model that it does not have."""


class EndpointDown(EndpointError):
    """It does not answer, has too many requests, or fails, after all retries. Later it may."""


class RequestRefused(EndpointError):
    """It refuses this request, such as one that is too long. Others may pass."""


class BudgetSpent(EndpointError):
    """It has cost as much as it may; `limit` says what that is and what was spent."""

    def __init__(self, limit: str, name: str = "max_usd") -> None:
        super().__init__(f"{limit}: what is done is kept; raise {name} and run again to go on")
        self.limit = limit


class Answer(Record):
    """What a model said.

    Of a model that tells its reasoning apart, `text` begins with it, in `<think>…</think>`. `usd` is its price and
    `latency_s` the endpoint's time, retries included, both from when it was asked; it cost that again unless `cached`.
    """

    text: str
    finish_reason: Literal["stop", "length"]
    prompt_tokens: int
    completion_tokens: int
    usd: float
    latency_s: float
    cached: bool = False

    @property
    def tokens(self) -> int:
        """Read and written."""
        return self.prompt_tokens + self.completion_tokens


@dataclass
class Spent:
    """What was asked of an endpoint so far; `cached` answers cost nothing and are in no other figure."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    cached: int = 0

    @classmethod
    def read(cls, ledger: Path) -> Spent:
        """What a ledger says, over all tries; nothing if there is none."""
        return cls(**read_json(ledger)) if ledger.exists() else cls()


def image_part(image: Image) -> Message:
    """An image as a part of a message."""
    url = f"data:image/png;base64,{base64.b64encode(image.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def text_part(text: str) -> Message:
    """A text as a part of a message."""
    return {"type": "text", "text": text}


class Endpoint:
    """A model behind an endpoint, inside of `async with`. Opening it raises `EndpointError` if there is no key."""

    def __init__(
        self,
        params: EndpointParams,
        ledger: Path,
        answers: Path | None = None,
        check_budget: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Args:
            ledger: the file that what was spent is counted in.
            answers: the file of earlier answers; None asks anew each time.
            check_budget: raises `BudgetSpent` when whoever pays for several endpoints has no more money.
        """
        self.params = params
        self.spent = Spent.read(ledger)
        self._ledger = ledger
        self._check_budget = check_budget
        self._answers = Answers(answers) if answers is not None else None
        self._asked: dict[str, asyncio.Task[Answer]] = {}
        self._at_once = asyncio.Semaphore(params.max_in_flight)
        rate = params.requests_per_minute
        self._rate = AsyncLimiter(max(1, rate / 60), 60 / rate * max(1, rate / 60)) if rate is not None else None
        self._client: openai.AsyncOpenAI | None = None

    async def __aenter__(self) -> Endpoint:
        variable = self.params.key_variable
        if variable is not None and not os.environ.get(variable):
            raise EndpointError(
                f"the environment variable {variable} holds no key for {self.params.model}: set it, or set "
                "key_variable to null if the endpoint wants none"
            )
        self._client = openai.AsyncOpenAI(
            base_url=self.params.url,
            api_key=os.environ[variable] if variable is not None else "none",
            max_retries=self.params.max_retries,
            timeout=self.params.timeout_s,
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        for asked in self._asked.values():
            asked.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)
        if self._client is not None:
            await self._client.close()
        if self._answers is not None:
            self._answers.close()

    async def ask(
        self,
        messages: list[Message],
        *,
        max_tokens: int,
        temperature: float | None = 0.0,
        top_p: float | None = None,
        top_k: int = 0,
        seed: int | None = 0,
        response_format: Message | None = None,
    ) -> Answer:
        """Ask for one answer, or find it among the earlier ones.

        Args:
            max_tokens: of the answer, reasoning included.
            temperature: None leaves it to the endpoint; some reasoning models take no other.
            top_p: None leaves it to the endpoint.
            top_k: 0 leaves it out: OpenAI's own API does not know it.
            seed: tells answers to the same messages apart, too.
            response_format: as the API has it, such as `{"type": "json_object"}` or a JSON schema.

        Raises:
            EndpointDown: it does not answer after all retries.
            RequestRefused: this request is wrong.
            BudgetSpent: `max_usd` is reached, or `check_budget` says so.
            EndpointError: the endpoint cannot be used as it is.
        """
        decoding = {"max_completion_tokens": max_tokens, "temperature": temperature, "top_p": top_p, "seed": seed}
        request = {key: value for key, value in decoding.items() if value is not None}
        request |= {"messages": messages}
        if response_format is not None:
            request["response_format"] = response_format
        extra = self.params.extra | ({"top_k": top_k} if top_k else {})
        if self._answers is None:
            return await self._request(request, extra)
        key = self._key(request, extra)
        if (known := self._answers.get(key)) is not None:
            self.spent.cached += 1
            return known.model_copy(update={"cached": True})
        return await self._once(key, request, extra)

    async def _once(self, key: str, request: dict[str, Any], extra: dict[str, Any]) -> Answer:
        """Those who ask the same at the same time wait for one answer; one who gives up waiting takes it from none."""

        async def ask() -> Answer:
            try:
                answer = await self._request(request, extra)
                assert self._answers is not None
                self._answers.put(key, answer)
                return answer
            finally:
                del self._asked[key]

        first = key not in self._asked
        if first:
            self._asked[key] = asyncio.create_task(ask())
        answer = await asyncio.shield(self._asked[key])
        return answer if first else answer.model_copy(update={"cached": True})

    async def _request(self, request: dict[str, Any], extra: dict[str, Any]) -> Answer:
        if self._client is None:
            raise RuntimeError("ask an Endpoint inside of `async with`")
        params = self.params
        async with self._turn():
            if params.max_usd is not None and self.spent.usd >= params.max_usd:
                raise BudgetSpent(f"{params.model} has cost {self.spent.usd:.2f} USD, max_usd is {params.max_usd:.2f}")
            self._check_budget()
            began = time.monotonic()
            try:
                said = await self._client.chat.completions.create(model=params.model, **request, extra_body=extra)
            except openai.OpenAIError as error:
                raise self._told(error) from error
            except ValueError:  # a body that is no JSON
                said = None
            latency_s = time.monotonic() - began
        if not isinstance(said, ChatCompletion) or not said.choices:
            raise EndpointDown(
                f"what came back from {redacted(params.url)} is no answer of {params.model}'s; run again to go on"
            )
        read, written = (said.usage.prompt_tokens, said.usage.completion_tokens) if said.usage else (0, 0)
        usd = (read * params.usd_per_million_prompt + written * params.usd_per_million_completion) / 1e6
        spent = self.spent
        spent.requests += 1
        spent.prompt_tokens += read
        spent.completion_tokens += written
        spent.usd += usd
        write_json(self._ledger, asdict(spent))
        choice = said.choices[0]
        return Answer(
            text=_text(choice.message),
            finish_reason="length" if choice.finish_reason in _CUT else "stop",
            prompt_tokens=read,
            completion_tokens=written,
            usd=usd,
            latency_s=latency_s,
        )

    def _told(self, error: openai.OpenAIError) -> EndpointError:
        kind, hint = EndpointError, "mend that and run again to go on"
        if isinstance(error, openai.BadRequestError | openai.UnprocessableEntityError) or (
            isinstance(error, openai.APIStatusError) and error.status_code == 413
        ):
            kind = RequestRefused
        elif isinstance(
            error, openai.APIConnectionError | openai.RateLimitError | openai.InternalServerError
        ) and not _is_out_of_credit(error):
            kind, hint = EndpointDown, "run again to go on"
        return kind(
            f"{self.params.model} at {redacted(self.params.url)} failed for good ({type(error).__name__}, max_retries "
            f"is {self.params.max_retries}): {redacted(str(error))}; what is done is kept, {hint}"
        )

    def _key(self, request: dict[str, Any], extra: dict[str, Any]) -> str:
        content = json.dumps([self.params.url, self.params.model, request, extra], sort_keys=True)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        async with self._at_once:
            if self._rate is not None:
                await self._rate.acquire()
            yield


class Answers:
    """Answers by key, in a file that several processes may use. An entry that cannot be read is no entry."""

    def __init__(self, path: Path) -> None:
        """
        Raises:
            EndpointError: the file is no such file.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=60, isolation_level=None)
        try:
            self._database.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise EndpointError(
                f"{path} is not a file of answers ({error}): move it away to start a new one"
            ) from error

    def get(self, key: str) -> Answer | None:
        """The answer, if there is one."""
        row = self._database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        try:
            return None if row is None else Answer.model_validate_json(row[0])
        except ValidationError:
            return None

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer; when this returns, it survives the process."""
        self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, answer.model_dump_json()))

    def close(self) -> None:
        self._database.close()


def _is_out_of_credit(error: openai.OpenAIError) -> bool:
    """An account without money answers like one that is in a hurry, but waiting does not help."""
    return isinstance(error, openai.APIError) and error.code == "insufficient_quota"


def _text(message: Any) -> str:
    """What the model said, with what it thought before where the server tells the two apart."""
    thought = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
    said = message.content or ""
    return f"<think>\n{thought.strip()}\n</think>\n\n{said}" if thought else said
