"""Counts a tab's requests, messages to sockets among them, and knows which of them still have to be awaited."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from functools import partial

from playwright.async_api import Page, Request, Response, WebSocket

from components.browser.listener_errors import ListenerErrors

_AWAITED_TYPES = frozenset({"document", "stylesheet", "script", "xhr", "fetch"})
"""Resource types that change what a page shows. Event streams, pings and media are not awaited; images and fonts in
view are awaited by `waiting.js`."""
_STREAMS = ("text/event-stream", "application/x-ndjson", "multipart/x-mixed-replace", "application/grpc-web")
"""Content types of responses that need not end."""
_POLLS = 2
"""A request that was repeated so often while no call ran is a poll, which is not awaited."""
_LONG_POLL_S = 2.0
"""A request that took longer counts like a repetition, whatever its query was, and like a poll if no call ran."""
_MESSAGE_S = 1.0
"""How long a message to a socket is awaited. After it no answer is expected."""


class NetworkActivity:
    """The requests of one tab. All counts stay 0 unless `watch` was called.

    A message that a page sends to a socket while a call runs is awaited like a request, until the socket's next
    message. A socket that left so many messages unanswered as make a poll is not awaited any more.
    """

    def __init__(self) -> None:
        self.requests = 0
        """Number of requests so far."""
        self.is_idle = False
        """Whether no call runs, so that what is requested now is the page's own routine."""
        self._loading: dict[Request | WebSocket, int] = {}
        self._begun: dict[Request, float] = {}
        self._routine: Counter[str | WebSocket] = Counter()
        self._answers: list[tuple[int, float]] = []
        self._changed = asyncio.Event()

    def watch(self, page: Page, errors: ListenerErrors) -> None:
        """Follow the requests of a page."""
        page.on("request", errors.guarded(self._on_request))
        page.on("response", errors.guarded(self._on_response))
        page.on("requestfinished", errors.guarded(self._on_request_ended))
        page.on("requestfailed", errors.guarded(self._on_request_ended))
        page.on("websocket", errors.guarded(partial(self._on_socket, errors)))

    def is_loading(self, since: int) -> bool:
        """Whether a request after request number `since` is still loading."""
        return any(number > since for number in self._loading.values())

    def answered(self, since: int) -> float | None:
        """The monotonic time at which the last request after request number `since` was answered; None if none was."""
        return max((when for number, when in self._answers if number > since), default=None)

    async def loaded(self, since: int) -> None:
        """Wait until no request after request number `since` is loading."""
        while self.is_loading(since):
            self._changed.clear()
            await self._changed.wait()

    def on_new_document(self) -> None:
        """Forget the previous document's requests."""
        self._loading = {
            request: number
            for request, number in self._loading.items()
            if isinstance(request, Request) and request.is_navigation_request()
        }
        self._begun = {request: when for request, when in self._begun.items() if request in self._loading}
        self._answers = []
        self._routine.clear()
        self._changed.set()

    def _on_request(self, request: Request) -> None:
        self.requests += 1
        if request.resource_type not in _AWAITED_TYPES:
            return
        if request.resource_type in ("xhr", "fetch"):
            key = _key(request)
            if self.is_idle:
                self._routine[key] += 1
            if self._routine[key] >= _POLLS or self._routine[_endpoint(request)] >= _POLLS:
                return
        self._loading[request] = self.requests
        self._begun[request] = time.monotonic()

    def _on_response(self, response: Response) -> None:
        if response.request in self._loading and response.headers.get("content-type", "").startswith(_STREAMS):
            self._on_request_ended(response.request)

    def _on_request_ended(self, request: Request) -> None:
        number = self._loading.pop(request, None)
        if number is None:
            return
        now = time.monotonic()
        if now - self._begun.pop(request, now) > _LONG_POLL_S:
            self._routine[_endpoint(request)] += _POLLS if self.is_idle else 1
        self._keep_answer(number, now)

    def _on_socket(self, errors: ListenerErrors, socket: WebSocket) -> None:
        socket.on("framesent", errors.guarded(lambda _: self._on_message_sent(socket)))
        socket.on("framereceived", errors.guarded(lambda _: self._on_message_received(socket)))
        socket.on("close", errors.guarded(self._on_message_received))

    def _on_message_sent(self, socket: WebSocket) -> None:
        if self.is_idle or socket in self._loading or self._routine[socket] >= _POLLS:
            return
        self.requests += 1
        self._loading[socket] = self.requests
        asyncio.get_running_loop().call_later(_MESSAGE_S, self._on_message_unanswered, socket, self.requests)

    def _on_message_received(self, socket: WebSocket) -> None:
        number = self._loading.pop(socket, None)
        if number is not None:
            self._routine[socket] = 0
            self._keep_answer(number, time.monotonic())

    def _on_message_unanswered(self, socket: WebSocket, number: int) -> None:
        if self._loading.get(socket) == number:
            del self._loading[socket]
            self._routine[socket] += 1
            self._changed.set()

    def _keep_answer(self, number: int, when: float) -> None:
        self._answers = [*self._answers[-20:], (number, when)]
        self._changed.set()


def _key(request: Request) -> str:
    """What makes two requests the same."""
    return f"{request.method} {request.url} {request.post_data_buffer!r}"


def _endpoint(request: Request) -> str:
    """Method and address without the query."""
    return f"{request.method} {request.url.partition('?')[0]}"
