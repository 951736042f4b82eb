"""Equal requests at the same time share one answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from components.endpoint.answers import Answer

Waiting = Callable[[], contextlib.AbstractContextManager[None]]
"""Makes a context that is open while a request waits here and the endpoint does not work on it."""

Send = Callable[[Waiting], Coroutine[Any, Any, Answer]]
"""Sends a request; enters the context while the request waits."""


class SharedRequests:
    """The requests that have no answer yet, by key. Equal requests have one key.

    A caller that is cancelled does not cancel the request for the others. If no caller is left, a request on which the
    endpoint works goes on, because it is paid for; one that waits is cancelled, and not sent.
    """

    def __init__(self) -> None:
        self._requests: dict[str, _Request] = {}

    @property
    def tasks(self) -> list[asyncio.Task[Answer]]:
        """The tasks of all requests."""
        return [request.task for request in self._requests.values()]

    async def answer(self, key: str, send: Send, waiting: Waiting) -> Answer:
        """The answer to the request of a key; `send` makes the request if there is none. The answer to a request of
        another caller is marked as cached."""
        request = self._requests.get(key)
        first = request is None
        if request is None:
            request = self._requests[key] = _Request(send, waiting)
            request.task.add_done_callback(lambda task: self._forget(key, task))
        request.callers += 1
        try:
            answer = await asyncio.shield(request.task)
        finally:
            request.callers -= 1
            if request.is_unwanted:
                request.task.cancel()
                self._forget(key, request.task)  # a later caller makes a request of its own
        return answer if first else answer.model_copy(update={"cached": True})

    def _forget(self, key: str, task: asyncio.Task[Answer]) -> None:
        if key in self._requests and self._requests[key].task is task:
            del self._requests[key]


class _Request:
    def __init__(self, send: Send, waiting: Waiting) -> None:
        self.callers = 0
        self._waiting = waiting
        self._waits = True  # for the first step of its task
        self.task = asyncio.create_task(send(self._wait))

    @property
    def is_unwanted(self) -> bool:
        """Whether it waits, and no caller is left."""
        return self._waits and not self.callers

    @contextlib.contextmanager
    def _wait(self) -> Iterator[None]:
        self._waits = True
        if self.is_unwanted:
            self.task.cancel()
        with self._waiting():
            yield
        self._waits = False
