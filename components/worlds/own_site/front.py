"""One port for all copies of an application: it leads each request to the copy of the episode that its cookie names.

A browser reaches a site under one host and port, and each episode has a process of its own behind it. A request without
an episode's cookie is refused. A connection serves one request, so its bytes can go to no second copy; a WebSocket is
one request.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter

from components.browser.egress_proxy import HEAD_LIMIT, HEAD_TIMEOUT_S, relay

COOKIE = "waymark-episode"
"""The cookie with the key of an episode; the application does not see it."""
READS = (b"GET ", b"HEAD ", b"OPTIONS ")
"""How the heads of requests begin that change no data."""


class Front:
    """The port. `routes` has the loopback port of each episode's process, by the episode's key."""

    def __init__(self) -> None:
        self.routes: dict[str, int] = {}
        self._writes = Counter[str]()
        self._relays: dict[str, set[asyncio.Task[None]]] = {}
        """The relays of requests under way, by the episode's key."""
        self._server: asyncio.Server | None = None

    def is_writing(self, key: str) -> bool:
        """Whether the application has not yet answered a request of an episode that may change its data."""
        return self._writes[key] > 0

    def close(self, key: str) -> None:
        """Refuse an episode's requests from now on, and cut those that are under way, such as WebSockets: what they
        send would be in the next episode's data."""
        self.routes.pop(key, None)
        for relay_task in self._relays.pop(key, set()):
            relay_task.cancel()

    async def start(self) -> None:
        """Listen on a free port of loopback."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=HEAD_LIMIT)

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            self._server = None

    @property
    def port(self) -> int:
        """The port on loopback.

        Raises:
            RuntimeError: it does not listen yet.
        """
        if self._server is None:
            raise RuntimeError("the site is not served yet; `await site.start()` first, or give it to a BrowserPool")
        return self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: asyncio.StreamWriter | None = None
        writing = ""
        try:
            async with asyncio.timeout(HEAD_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            key, forwarded = forward(head)
            port = self.routes.get(key)
            if port is None:
                _answer(writer, "403 Forbidden", "This address belongs to no running episode.")
                return
            if not head.startswith(READS):
                writing = key
                self._writes[key] += 1
            from_application, upstream = await asyncio.open_connection("127.0.0.1", port)
            upstream.write(forwarded)
            await self._relayed(key, (reader, upstream), (from_application, writer))
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            if upstream is None:
                _answer(writer, "502 Bad Gateway", "The application does not answer.")
        finally:
            if writing:
                self._writes[writing] -= 1
            for end in (upstream, writer):
                if end is not None:
                    with contextlib.suppress(Exception):
                        end.close()
                        await end.wait_closed()

    async def _relayed(self, key: str, *streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        """Relay in both directions until the application's side ends, or `close` cuts the episode's requests."""
        if key not in self.routes:
            return
        task = asyncio.ensure_future(relay(*streams))
        self._relays.setdefault(key, set()).add(task)
        try:
            await asyncio.wait({task})
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error
        finally:
            task.cancel()
            self._relays.get(key, set()).discard(task)


def forward(head: bytes) -> tuple[str, bytes]:
    """The episode's key in a request's head, and the head as the application gets it.

    Raises:
        ValueError: this is no head of a request.
    """
    first, *headers = head.rstrip(b"\r\n").split(b"\r\n")
    if first.count(b" ") != 2:
        raise ValueError(f"no request line: {first[:80]!r}")
    fields = [(name.strip(), value.strip()) for name, _, value in (header.partition(b":") for header in headers)]
    is_upgrade = any(name.lower() == b"upgrade" for name, _ in fields)
    key, lines = "", [first]
    for name, value in fields:
        match name.lower():
            case b"cookie":
                pairs = [pair.strip() for pair in value.decode("latin-1").split(";")]
                key = next((pair.partition("=")[2] for pair in pairs if pair.startswith(f"{COOKIE}=")), key)
                kept = "; ".join(pair for pair in pairs if pair and not pair.startswith(f"{COOKIE}="))
                if kept:
                    lines.append(b"Cookie: " + kept.encode("latin-1"))
            case b"connection" | b"keep-alive" | b"proxy-connection" if not is_upgrade:
                pass
            case _:
                lines.append(name + b": " + value)
    if not is_upgrade:
        lines.append(b"Connection: close")
    return key, b"\r\n".join(lines) + b"\r\n\r\n"


def _answer(writer: asyncio.StreamWriter, status: str, text: str) -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: {len(text)}\r\n\r\n"
    with contextlib.suppress(Exception):
        writer.write((head + text).encode())
