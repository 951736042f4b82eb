"""The client of models behind OpenAI-compatible endpoints, for teachers, judges and the proposal of tasks.

    async with Endpoint(params, ledger=state / "spent.json", answers=ANSWERS) as endpoint:
        answer = await endpoint.ask([{"role": "user", "content": "…"}], max_tokens=512)

- A semaphore limits the requests in flight, `aiolimiter` their rate; a request that may pass later is sent again with
  back-off and jitter (`endpoint_retries`).
- The ledger is a file of the stage's state that counts what was spent, so that a budget holds over restarts.
- `answers` is a file (SQLite) of answers by content: the same request, after a crash or in another stage, gets the
  answer that was already paid for. The content is endpoint, model, messages with their images, decoding and seed.
  Answers are stored atomically.

The errors tell what to do: `EndpointDown` may pass by itself, `RequestRefused` concerns only one request, and
`BudgetSpent` and the others need a change by the user.

Accepted trade-offs: a budget may be exceeded by the requests in flight when it is reached. Prices are the recipe's,
since endpoints name none. If an endpoint serves other weights under the same name, delete the file of answers.
Streaming and tools are not supported.
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
from typing import TYPE_CHECKING, Any, Literal

from aiolimiter import AsyncLimiter
from pydantic import ValidationError

from components.endpoint_retries import MAY_PASS, retry_delay
from components.params import EndpointParams
from components.records import Image, Record
from components.redaction import redacted
from components.store import STATE, read_json, write_json

if TYPE_CHECKING:
    import openai  # 0.8 s to import, so it is loaded by the first endpoint that is entered
    from openai.types.chat import ChatCompletion

ANSWERS = STATE / "answers.sqlite"
"""The file of answers that all stages share. It is no DVC output and no stage's state, so `waymark clean` keeps it."""

_INCOMPLETE = ("length", "content_filter")
"""Finish reasons of incomplete answers."""

Message = dict[str, Any]
"""A message of OpenAI's chat API."""

Waiting = Callable[[], contextlib.AbstractContextManager[None]]
"""Makes a context that is open while a request waits here and the endpoint does not work on it."""


class EndpointError(RuntimeError):
    """The endpoint cannot be used: the key is missing or wrong, or it does not have the model."""


class EndpointDown(EndpointError):
    """The endpoint does not answer, limits the rate, or fails, after all retries. It may work later."""


class RequestRefused(EndpointError):
    """The endpoint refuses this request, for example because it is too long. Other requests may work."""


class BudgetSpent(EndpointError):
    """The budget is spent; `limit` names the limit and what was spent."""

    def __init__(self, limit: str, name: str = "max_usd") -> None:
        super().__init__(f"{limit}: what is done is kept; raise {name} and run again to go on")
        self.limit = limit


class Answer(Record):
    """A model's answer.

    If the endpoint returns the reasoning separately, `text` begins with it, in `<think>…</think>`. `usd` is the price
    and `latency_s` the endpoint's time including retries, both of the original request; a `cached` answer cost neither
    again.
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
        """Number of tokens read and written."""
        return self.prompt_tokens + self.completion_tokens


@dataclass
class Spent:
    """What was spent on an endpoint so far. `cached` answers cost nothing and count in no other figure."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    cached: int = 0

    @classmethod
    def read(cls, ledger: Path) -> Spent:
        """Read a ledger, which covers all restarts; all zero if there is none."""
        return cls(**read_json(ledger)) if ledger.exists() else cls()


def image_part(image: Image) -> Message:
    """An image as a part of a message."""
    url = f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def text_part(text: str) -> Message:
    """A text as a part of a message."""
    return {"type": "text", "text": text}


def require_key(params: EndpointParams) -> None:
    """Require an endpoint's key, without a request.

    Raises:
        EndpointError: it is not in the environment.
    """
    variable = params.key_variable
    if variable is not None and not os.environ.get(variable):
        raise EndpointError(
            f"the environment variable {variable} holds no key for {params.model}: set it, or set key_variable to null "
            "if the endpoint wants none"
        )


class Endpoint:
    """A model behind an endpoint; use it inside of `async with`, which raises `EndpointError` if the key is missing."""

    def __init__(
        self,
        params: EndpointParams,
        ledger: Path,
        answers: Path | None = None,
        check_budget: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Args:
            ledger: the file that counts what was spent.
            answers: the file of earlier answers; None requests every answer anew.
            check_budget: raises `BudgetSpent` when a budget for several endpoints is spent.
        """
        self.params = params
        self.spent = Spent.read(ledger)
        self._ledger = ledger
        self._check_budget = check_budget
        self._answers = Answers(answers) if answers is not None else None
        self._pending: dict[str, asyncio.Task[Answer]] = {}
        self._in_flight = asyncio.Semaphore(params.max_in_flight)
        rate = params.requests_per_minute
        self._rate = AsyncLimiter(max(1, rate / 60), 60 / rate * max(1, rate / 60)) if rate is not None else None
        self._client: openai.AsyncOpenAI | None = None

    async def __aenter__(self) -> Endpoint:
        import openai

        require_key(self.params)
        variable = self.params.key_variable
        self._client = openai.AsyncOpenAI(
            base_url=self.params.url,
            api_key=os.environ[variable] if variable is not None else "none",
            max_retries=0,  # `_sent` retries
            timeout=self.params.timeout_s,
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        error = exc[1]
        if error is not None and not isinstance(error, BudgetSpent):
            for pending in self._pending.values():
                pending.cancel()
        # A request stays in flight if its question was given up, because another one of the same verdict failed. It is
        # paid for.
        await asyncio.gather(*self._pending.values(), return_exceptions=True)
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
        waiting: Waiting = contextlib.nullcontext,
    ) -> Answer:
        """Request one answer, or read it from the file of answers.

        Args:
            max_tokens: limit of the answer, including its reasoning.
            temperature: None leaves it to the endpoint; some reasoning models accept no value.
            top_p: None leaves it to the endpoint.
            top_k: 0 omits it, because OpenAI's own API does not know it.
            seed: different seeds give different answers to the same messages, also in the file of answers.
            response_format: the API's parameter, such as `{"type": "json_object"}` or a JSON schema.
            waiting: entered while the request waits for `max_in_flight`, for `requests_per_minute` or before a retry.
                Of equal requests at the same time, the first one's is entered.

        Raises:
            EndpointDown: the endpoint does not answer after all retries.
            RequestRefused: the endpoint refuses this request.
            BudgetSpent: `max_usd` is reached, or `check_budget` raised it.
            EndpointError: the endpoint cannot be used.
        """
        decoding = {"max_completion_tokens": max_tokens, "temperature": temperature, "top_p": top_p, "seed": seed}
        request: dict[str, Any] = {key: value for key, value in decoding.items() if value is not None}
        request |= {"messages": messages}
        if response_format is not None:
            request["response_format"] = response_format
        extra = self.params.extra | ({"top_k": top_k} if top_k else {})
        if self._answers is None:
            return await self._request(request, extra, waiting)
        key = self._key(request, extra)
        if (stored := self._answers.get(key)) is not None:
            self.spent.cached += 1
            return stored.model_copy(update={"cached": True})
        return await self._shared_request(key, request, extra, waiting)

    async def _shared_request(
        self, key: str, request: dict[str, Any], extra: dict[str, Any], waiting: Waiting
    ) -> Answer:
        """Equal requests at the same time share one answer. A caller that is cancelled does not cancel it for the
        others."""

        async def request_and_store() -> Answer:
            try:
                answer = await self._request(request, extra, waiting)
                assert self._answers is not None
                self._answers.put(key, answer)
                return answer
            finally:
                del self._pending[key]

        first = key not in self._pending
        if first:
            self._pending[key] = asyncio.create_task(request_and_store())
        answer = await asyncio.shield(self._pending[key])
        return answer if first else answer.model_copy(update={"cached": True})

    async def _request(self, request: dict[str, Any], extra: dict[str, Any], waiting: Waiting) -> Answer:
        import openai
        from openai.types.chat import ChatCompletion

        params = self.params
        completion: ChatCompletion | None
        async with self._request_slot(waiting):
            if params.max_usd is not None and self.spent.usd >= params.max_usd:
                raise BudgetSpent(f"{params.model} has cost {self.spent.usd:.2f} USD, max_usd is {params.max_usd:.2f}")
            self._check_budget()
            began = time.monotonic()
            try:
                completion = await self._sent(request, extra, waiting)
            except openai.OpenAIError as error:
                raise self._translated(error) from error
            except ValueError:  # the body is not JSON
                completion = None
            latency_s = time.monotonic() - began
        if not isinstance(completion, ChatCompletion) or not completion.choices:
            raise EndpointDown(
                f"the response of {redacted(params.url)} is not an answer of {params.model}; run again to go on"
            )
        usage = completion.usage
        read, written = (usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0)
        usd = (read * params.usd_per_million_prompt + written * params.usd_per_million_completion) / 1e6
        spent = self.spent
        spent.requests += 1
        spent.prompt_tokens += read
        spent.completion_tokens += written
        spent.usd += usd
        write_json(self._ledger, asdict(spent))
        choice = completion.choices[0]
        return Answer(
            text=_text(choice.message),
            finish_reason="length" if choice.finish_reason in _INCOMPLETE else "stop",
            prompt_tokens=read,
            completion_tokens=written,
            usd=usd,
            latency_s=latency_s,
        )

    async def _sent(self, request: dict[str, Any], extra: dict[str, Any], waiting: Waiting) -> ChatCompletion:
        """Send a request, and send it again up to `max_retries` times after errors that may pass.

        Raises:
            openai.OpenAIError: the last error.
            ValueError: the response is not JSON.
        """
        import openai

        if self._client is None:
            raise RuntimeError("use an Endpoint inside of `async with`")
        model, completions = self.params.model, self._client.chat.completions
        retries = 0
        while True:
            try:
                completion: ChatCompletion = await completions.create(model=model, **request, extra_body=extra)
                return completion
            except openai.OpenAIError as error:
                delay_s = retry_delay(error, retries)
                if retries == self.params.max_retries or delay_s is None:
                    raise
            with waiting():
                await asyncio.sleep(delay_s)
            retries += 1

    def _translated(self, error: openai.OpenAIError) -> EndpointError:
        import openai

        kind, hint = EndpointError, "fix that and run again to go on"
        if isinstance(error, openai.BadRequestError | openai.UnprocessableEntityError) or (
            isinstance(error, openai.APIStatusError) and error.status_code == 413
        ):
            kind = RequestRefused
        elif (
            isinstance(error, openai.APIConnectionError | openai.InternalServerError)
            or (isinstance(error, openai.APIStatusError) and error.status_code in MAY_PASS)
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
    async def _request_slot(self, waiting: Waiting) -> AsyncIterator[None]:
        with waiting():
            await self._in_flight.acquire()
        try:
            if self._rate is not None:
                with waiting():
                    await self._rate.acquire()
            yield
        finally:
            self._in_flight.release()


class Answers:
    """Answers by key, in a file that several processes may use. An unreadable entry counts as missing."""

    def __init__(self, path: Path) -> None:
        """
        Raises:
            EndpointError: the file is not a database of answers.
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
        """The answer with this key, if there is one."""
        row = self._database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        try:
            return None if row is None else Answer.model_validate_json(row[0])
        except ValidationError:
            return None

    def put(self, key: str, answer: Answer) -> None:
        """Store an answer. Once this returns, it survives the process."""
        self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, answer.model_dump_json()))

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _is_out_of_credit(error: openai.OpenAIError) -> bool:
    """Whether the account has no credit. The status is that of a rate limit, but waiting does not help."""
    import openai

    return isinstance(error, openai.APIError) and error.code == "insufficient_quota"


def _text(message: Any) -> str:
    """The answer's text, preceded by its reasoning if the server returns that separately."""
    thought = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
    content = message.content or ""
    return f"<think>\n{thought.strip()}\n</think>\n\n{content}" if thought else content
