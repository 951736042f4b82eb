"""The forward proxy behind which every browser runs: it decides by name and address, and connects to what it decided.

Run as a script in a process of its own (standard library only, so that it starts at once): reads one line of JSON with
the rules from standard input, prints its port, and ends when standard input closes, which the death of its parent
does too.

A request (absolute form, or CONNECT for TLS and WebSockets) is refused unless its host is allowed, is resolved once,
and is connected to an address of that answer which is public: what the name means a moment later does not matter.
Loopback, private, link-local and other special addresses are refused, in whatever spelling, unless the rules name the
host. A connection serves one plain request: its bytes have nowhere else to go, whatever they pretend to be.

Of the proxies on PyPI none fits: proxy.py forks workers that outlive a killed parent and connects blockingly, mitmproxy
breaks TLS open to do its work.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

HEAD_LIMIT = 64 * 1024
HEAD_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 15.0
IDLE_TIMEOUT_S = 300.0
CHUNK = 64 * 1024
_HOP_BY_HOP = {b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"te", b"upgrade"}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Resolve = Callable[[str, int], Awaitable[list[str]]]


class RefusedError(Exception):
    """Where nobody may go, and why."""


@dataclass(frozen=True)
class Rules:
    """Who may be asked. Patterns are shell patterns of host names, such as `*.example.org`.

    `private` names hosts, or host:port, that may lie on addresses that are not public.
    """

    allowed: list[str] = field(default_factory=lambda: ["*"])
    blocked: list[str] = field(default_factory=list)
    private: list[str] = field(default_factory=list)
    refusal_header: str = "X-Waymark-Refusal"
    """Marks the guard's own answers, with the reason. The pool makes one up that no server can know."""

    async def addresses(self, host: str, port: int, resolve: Resolve) -> list[str]:
        """The addresses at which a host may be asked, from one resolution.

        Raises:
            RefusedError: the host is not allowed, has no address, or only such that nobody may go to.
        """
        host = host.strip("[]").rstrip(".").lower()
        if any(fnmatchcase(host, pattern) for pattern in self.blocked):
            raise RefusedError(f"{host} is on the list of blocked hosts")
        trusted = host in self.private or f"{host}:{port}" in self.private
        if not trusted and not any(fnmatchcase(host, pattern) for pattern in self.allowed):
            raise RefusedError(f"{host} is not on the list of allowed hosts")
        try:
            found = await resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise RefusedError(f"{host} has no address") from error
        usable = [address for address in found if trusted or is_public(address)]
        if not usable:
            raise RefusedError(f"{host} leads to {', '.join(found) or 'nowhere'}, which is no public address")
        return usable


def is_public(address: str) -> bool:
    """Whether an address is of the public internet; for IPv6 forms that carry an IPv4 address, whether that one is."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inside = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inside is None and ip in _NAT64:
            inside = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inside is not None:
            return is_public(str(inside))
    return ip.is_global and not ip.is_multicast


async def resolve(host: str, port: int) -> list[str]:
    """The system's addresses of a name, each once."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(info[4][0] for info in found))


class Proxy:
    """A running proxy."""

    def __init__(self, rules: Rules, resolve: Resolve = resolve) -> None:
        self._rules = rules
        self._resolve = resolve
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen on loopback; the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=HEAD_LIMIT)
        return self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(HEAD_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            method, host, port, forward = _read_head(head)
            from_server, upstream = await self._connect(host, port)
            if method == b"CONNECT":
                writer.write(b"HTTP/1.1 200 Connection Established\r\n\r\n")
            else:
                upstream.write(forward)
            await _join(_pump(reader, upstream), _pump(from_server, writer))
        except RefusedError as error:
            reason = f"the egress guard refused it: {error}"
            _answer(writer, 403, "Forbidden", reason, self._rules.refusal_header)
        except (TimeoutError, OSError) as error:
            if upstream is None:
                reason = f"the server cannot be reached: {error or 'no answer'}"
                _answer(writer, 502, "Bad Gateway", reason, self._rules.refusal_header)
        except asyncio.CancelledError:
            pass  # the proxy ends; nobody awaits this task, and asyncio would print it
        except (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            _answer(writer, 400, "Bad Request", "not a request to a proxy")
        finally:
            for end in (upstream, writer):
                if end is not None:
                    with contextlib.suppress(Exception):
                        end.close()
                        await end.wait_closed()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        last: OSError | TimeoutError | None = None
        for address in await self._rules.addresses(host, port, self._resolve):
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    return await asyncio.open_connection(address, port)
            except (OSError, TimeoutError) as error:
                last = error
        raise last or OSError("no address")


def _read_head(head: bytes) -> tuple[bytes, str, int, bytes]:
    """Method, host, port, and the head to send on (in origin form, one request per connection).

    Raises:
        ValueError: it is no request that a proxy can serve.
    """
    line, *headers = head.rstrip(b"\r\n").split(b"\r\n")
    method, target, version = line.split(b" ")
    if method == b"CONNECT":
        host, _, port = target.decode("ascii").rpartition(":")
        return method, _required(host), int(port), b""
    url = urlsplit(target.decode("ascii"))
    if url.scheme != "http":
        raise ValueError(f"scheme {url.scheme!r}")
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    kept = [header for header in headers if header.partition(b":")[0].strip().lower() not in _HOP_BY_HOP]
    lines = [b" ".join([method, path.encode("ascii"), version]), *kept, b"Connection: close"]
    return method, _required(url.hostname), url.port or 80, b"\r\n".join(lines) + b"\r\n\r\n"


def _required(host: str | None) -> str:
    if not host:
        raise ValueError("no host")
    return host


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Bytes from one side to the other until that side ends."""
    while True:
        async with asyncio.timeout(IDLE_TIMEOUT_S):
            data = await reader.read(CHUNK)
        if not data:
            break
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _join(upwards: Awaitable[None], downwards: Awaitable[None]) -> None:
    """Both directions; when the server has said all, the client has nothing more to ask."""
    up, down = asyncio.ensure_future(upwards), asyncio.ensure_future(downwards)
    try:
        await down
    finally:
        for task in (up, down):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError, TimeoutError):
                await task


def _answer(writer: asyncio.StreamWriter, status: int, reason: str, text: str, marked: str | None = None) -> None:
    text = " ".join(text.split())
    body, header = text.encode(), f"{marked}: {text}\r\n" if marked else ""
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n{header}"
    with contextlib.suppress(Exception):
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


async def main() -> None:
    """Serve until standard input closes."""
    rules = Rules(**json.loads(sys.stdin.readline()))
    print(await Proxy(rules).start(), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
