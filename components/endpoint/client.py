"""The client of one endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.endpoint.answers import Answer, Answers, PaidAnswer
from components.endpoint.errors import BudgetSpent, EndpointDown, EndpointError, RequestRefused
from components.endpoint.ledger import Spent
from components.endpoint.messages import Message
from components.endpoint.retries import MAY_PASS, back_off, is_out_of_credit, retry_delay
from components.endpoint.shared_requests import SharedRequests, Waiting
from components.journal import Journal
from components.params import EndpointParams
from components.redaction import redacted
from components.store import write_json

if TYPE_CHECKING:
    import openai  # 0.8 s to import, so it is loaded by the first endpoint that is entered
    from aiolimiter import AsyncLimiter

_INCOMPLETE = ("length", "content_filter")
"""Finish reasons of incomplete answers."""

_Tries = list[asyncio.Task[Answer | None]]
"""The tasks that have sent one request."""


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


def _limiter(per_minute: float) -> AsyncLimiter:
    """Limits requests per minute. A burst has at most the requests of one second, and at least one."""
    from aiolimiter import AsyncLimiter  # training imports this package, and asks no endpoint

    burst = max(1, per_minute / 60)
    return AsyncLimiter(burst, 60 / per_minute * burst)


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
            answers: the file of earlier answers; None requests every answer anew. New answers are also in a journal
                beside the ledger: a run that goes on on another machine has its ledger there, and pays none again.
            check_budget: raises `BudgetSpent` when a budget for several endpoints is spent.

        Raises:
            EndpointError: the ledger cannot be read.
        """
        self.params = params
        self.spent = Spent.read(ledger)
        self._ledger = ledger
        self._check_budget = check_budget
        self._answers = Answers(answers) if answers is not None else None
        self._paid: Journal[PaidAnswer] | None = None
        self._shared = SharedRequests()
        self._tries: set[asyncio.Task[Answer | None]] = set()
        self._in_flight = asyncio.Semaphore(params.max_in_flight)
        rate = params.requests_per_minute
        self._rate = None if rate is None else _limiter(rate)
        self._client: openai.AsyncOpenAI | None = None

    async def __aenter__(self) -> Endpoint:
        import openai

        require_key(self.params)
        variable = self.params.key_variable
        if self._answers is not None:
            try:
                self._paid = Journal(self._ledger.with_suffix(".answers.jsonl"), PaidAnswer, in_memory=False)
                self._answers.add(self._paid.records)
            except BlockingIOError:  # another client of this run writes it
                pass
            except ValueError as error:  # a damaged line
                self._answers.close()
                raise EndpointError(str(error)) from error
        self._client = openai.AsyncOpenAI(
            base_url=self.params.url,
            api_key=os.environ[variable] if variable is not None else "none",
            max_retries=0,  # `_sent` retries
            timeout=self.params.timeout_s,
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        error, pending = exc[1], [*self._shared.tasks, *self._tries]
        if error is not None and not isinstance(error, BudgetSpent):
            for task in pending:
                task.cancel()
        # A request stays in flight if its caller was cancelled, such as an episode at its time limit, or a question
        # because another one of the same verdict failed. It is paid for.
        await asyncio.gather(*pending, return_exceptions=True)
        if self._client is not None:
            await self._client.close()
        if self._paid is not None:
            self._paid.close()
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
        """Request one answer, or read it from the file of answers. If the caller is cancelled, what was sent goes on,
        because it is paid for; a request that waits is not sent.

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
        left_out = {name for name, value in self.params.extra.items() if value is None}
        request: dict[str, Any] = {
            key: value for key, value in decoding.items() if value is not None and key not in left_out
        }
        request |= {"messages": messages}
        if response_format is not None:
            request["response_format"] = response_format
        further = self.params.extra | ({"top_k": top_k} if top_k and "top_k" not in left_out else {})
        extra = {name: value for name, value in further.items() if value is not None}
        if self._answers is None:
            return await self._request(request, extra, waiting)
        key = self._key(request | ({"seed": seed} if "seed" in left_out else {}), extra)
        if (stored := self._answers.get(key)) is not None:
            self.spent.cached += 1
            return stored.model_copy(update={"cached": True})

        async def request_and_store(waiting: Waiting) -> Answer:
            answer = await self._request(request, extra, waiting)
            assert self._answers is not None
            self._answers.put(key, answer)
            if self._paid is not None:
                self._paid.append(PaidAnswer(key=key, answer=answer))
            return answer

        return await self._shared.answer(key, request_and_store, waiting)

    async def _request(self, request: dict[str, Any], extra: dict[str, Any], waiting: Waiting) -> Answer:
        import openai

        params = self.params
        async with self._request_slot(waiting) as tries:
            if params.max_usd is not None and self.spent.usd >= params.max_usd:
                raise BudgetSpent(f"{params.model} has cost {self.spent.usd:.2f} USD, max_usd is {params.max_usd:.2f}")
            self._check_budget()
            try:
                answer = await self._sent(request, extra, waiting, tries)
            except openai.OpenAIError as error:
                raise self._translated(error) from error
        if answer is None:
            raise EndpointDown(
                f"{redacted(params.url)} did not return a chat completion of {params.model}: check the URL and run "
                "again to go on"
            )
        return answer

    async def _sent(
        self, request: dict[str, Any], extra: dict[str, Any], waiting: Waiting, tries: _Tries
    ) -> Answer | None:
        """Send a request, and send it again up to `max_retries` times after errors that may pass, and after responses
        that are no answers, such as the page of a proxy. Returns None if the last response was no answer.

        Args:
            tries: takes the task of each try, which goes on if this one is cancelled.

        Raises:
            openai.OpenAIError: the last error.
            RequestRefused: the text cannot be written as UTF-8.
        """
        import openai

        began = time.monotonic()
        retries = 0
        while True:
            tries.append(asyncio.create_task(self._try(request, extra, began)))
            self._tries.add(tries[-1])
            tries[-1].add_done_callback(self._tries.discard)
            try:
                answer = await asyncio.shield(tries[-1])
                if answer is not None:
                    return answer
                delay_s: float | None = back_off(retries)
            except openai.OpenAIError as error:
                delay_s = retry_delay(error, retries)
                if retries == self.params.max_retries or delay_s is None:
                    raise
            except UnicodeEncodeError as error:
                raise RequestRefused(
                    f"a request to {self.params.model} cannot be sent, because its text has half of a character "
                    f"({error}): take it out"
                ) from error
            except ValueError:  # the body is not JSON
                delay_s = back_off(retries)
            if retries == self.params.max_retries or delay_s is None:
                return None
            with waiting():
                await asyncio.sleep(delay_s)
            retries += 1

    async def _try(self, request: dict[str, Any], extra: dict[str, Any], began: float) -> Answer | None:
        """Send a request once, and count what the answer costs. Returns None if the response is no answer."""
        from openai.types.chat import ChatCompletion

        if self._client is None:
            raise RuntimeError("use an Endpoint inside of `async with`")
        params = self.params
        response: object = await self._client.chat.completions.create(model=params.model, **request, extra_body=extra)
        if not isinstance(response, ChatCompletion) or not response.choices:
            return None
        usage = response.usage
        if usage is None and params.max_usd is not None:
            raise EndpointError(
                f"{params.model} returns no `usage`, so its cost is unknown and max_usd would stop nothing: leave "
                "max_usd out to go on without a limit"
            )
        read, written = (usage.prompt_tokens or 0, usage.completion_tokens or 0) if usage else (0, 0)
        usd = (read * params.usd_per_million_prompt + written * params.usd_per_million_completion) / 1e6
        spent = self.spent
        spent.requests += 1
        spent.prompt_tokens += read
        spent.completion_tokens += written
        spent.usd += usd
        write_json(self._ledger, asdict(spent))
        choice = response.choices[0]
        if choice.message is None and choice.finish_reason != "content_filter":
            return None
        return Answer(
            text=_text(choice.message) if choice.message is not None else "",
            finish_reason="length" if choice.finish_reason in _INCOMPLETE else "stop",
            prompt_tokens=read,
            completion_tokens=written,
            usd=usd,
            latency_s=time.monotonic() - began,
            filtered=choice.finish_reason == "content_filter",
        )

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
        ) and not is_out_of_credit(error):
            kind, hint = EndpointDown, "run again to go on"
        return kind(
            f"{self.params.model} at {redacted(self.params.url)} failed for good ({type(error).__name__}, max_retries "
            f"is {self.params.max_retries}): {redacted(str(error))}; what is done is kept, {hint}"
        )

    def _key(self, request: dict[str, Any], extra: dict[str, Any]) -> str:
        content = json.dumps([self.params.url, self.params.model, request, extra], sort_keys=True)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    @contextlib.asynccontextmanager
    async def _request_slot(self, waiting: Waiting) -> AsyncIterator[_Tries]:
        """Yields an empty list for the tries of a request, which has its slot until all of them have ended."""
        with waiting():
            await self._in_flight.acquire()
        tries: _Tries = []
        try:
            if self._rate is not None:
                with waiting():
                    await self._rate.acquire()
            yield tries
        finally:
            asyncio.gather(*tries, return_exceptions=True).add_done_callback(lambda _: self._in_flight.release())


def _text(message: Any) -> str:
    """The answer's text, preceded by its reasoning if the server returns that separately."""
    thought = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
    content = message.content or ""
    return f"<think>\n{thought.strip()}\n</think>\n\n{content}" if thought else content
