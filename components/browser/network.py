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
"""A request that took longer counts like a repetition, whatever its query was: like a poll if no call ran when it
began, and else until the next call, because it may be the slow answer to what the call did."""
_AT_ONCE_S = 0.1
"""A request that took so long and is repeated so soon after its answer is a poll, if it began before the call."""
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
        self._is_idle = False
        """Whether no call runs, so that what is requested now is the page's own routine."""
        self._before_call = 0
        """Number of requests when the last call began."""
        self._loading: dict[Request | WebSocket, int] = {}
        self._begun: dict[Request, tuple[float, bool]] = {}
        """When a request that is loading began, and whether no call ran then."""
        self._routine: Counter[str | WebSocket] = Counter()
        self._long: Counter[str] = Counter()
        """The long requests that began and ended while the last call ran."""
        self._polled: dict[str, float] = {}
        """When a long request was answered that had begun before the last call."""
        self._answers: list[tuple[int, float]] = []
        self._changed = asyncio.Event()

    def watch(self, page: Page, errors: ListenerErrors) -> None:
        """Follow the requests of a page."""
        page.on("request", errors.guarded(self._on_request))
        page.on("response", errors.guarded(self._on_response))
        page.on("requestfinished", errors.guarded(self._on_request_ended))
        page.on("requestfailed", errors.guarded(self._on_request_ended))
        page.on("websocket", errors.guarded(partial(self._on_socket, errors)))

    def begin_call(self) -> None:
        """A call begins: what is requested from now on may be its effect."""
        self._is_idle = False
        self._before_call = self.requests
        self._long.clear()
        self._polled.clear()

    def end_call(self) -> None:
        """The call has ended, and what it caused was awaited."""
        self._is_idle = True

    def is_loading(self, since: int) -> bool:
        """Whether a request after request number `since` is still loading."""
        return self.unanswered(since) > 0

    def unanswered(self, since: int) -> int:
        """Number of awaited requests after request number `since` that are still loading."""
        return sum(number > since for number in self._loading.values())

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
        for counts in (self._routine, self._long, self._polled):
            counts.clear()
        self._changed.set()

    def _on_request(self, request: Request) -> None:
        self.requests += 1
        if request.resource_type not in _AWAITED_TYPES:
            return
        if request.resource_type in ("xhr", "fetch") and self._is_routine(request):
            return
        self._loading[request] = self.requests
        self._begun[request] = time.monotonic(), self._is_idle

    def _is_routine(self, request: Request) -> bool:
        """Whether a request of a script is a poll."""
        key, endpoint = _key(request), _endpoint(request)
        if self._is_idle:
            self._routine[key] += 1
        if time.monotonic() - self._polled.get(_message(request), float("-inf")) < _AT_ONCE_S:
            self._routine[endpoint] += _POLLS
        return self._routine[key] >= _POLLS or self._routine[endpoint] + self._long[endpoint] >= _POLLS

    def _on_response(self, response: Response) -> None:
        request = response.request
        if request not in self._loading:
            return
        if response.headers.get("content-type", "").startswith(_STREAMS):
            self._on_request_ended(request)
        else:
            self._note_polled(request, self._loading[request])

    def _on_request_ended(self, request: Request) -> None:
        number = self._loading.pop(request, None)
        if number is None:
            return
        now = time.monotonic()
        self._note_polled(request, number)
        began, was_idle = self._begun.pop(request, (now, False))
        if now - began > _LONG_POLL_S and was_idle:
            self._routine[_endpoint(request)] += _POLLS
        elif now - began > _LONG_POLL_S and number > self._before_call and not self._is_idle:
            self._long[_endpoint(request)] += 1
        self._keep_answer(number, now)

    def _note_polled(self, request: Request, number: int) -> None:
        """A long request that was no effect of the call that runs is answered: it may be repeated at once."""
        now = time.monotonic()
        is_own = number > self._before_call and not self._is_idle
        if now - self._begun.get(request, (now, False))[0] > _LONG_POLL_S and not is_own:
            self._polled[_message(request)] = now

    def _on_socket(self, errors: ListenerErrors, socket: WebSocket) -> None:
        socket.on("framesent", errors.guarded(lambda _: self._on_message_sent(socket)))
        socket.on("framereceived", errors.guarded(lambda _: self._on_message_received(socket)))
        socket.on("close", errors.guarded(self._on_message_received))

    def _on_message_sent(self, socket: WebSocket) -> None:
        if self._is_idle or socket in self._loading or self._routine[socket] >= _POLLS:
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


def _message(request: Request) -> str:
    """Method and address without the query, and what is sent."""
    return f"{_endpoint(request)} {request.post_data_buffer!r}"


def _endpoint(request: Request) -> str:
    """Method and address without the query."""
    return f"{request.method} {request.url.partition('?')[0]}"
