"""The forward proxy of the egress guard: it checks host names and IP addresses, and connects only to what it checked.

It runs as a script in a process of its own, with the standard library only, so that it starts fast. It reads one line
of JSON with the rules from standard input and prints its port. Each further line replaces the rules, and is answered by
a line. The proxy ends when standard input closes, which the death of its parent does too. Own sites use its `relay`.

A request (absolute form, or CONNECT for TLS and WebSockets) is refused unless its host is allowed. The host is resolved
once, and the proxy connects to a public address of that answer; a later change of the name has no effect. Loopback,
private, link-local and other special addresses are refused in every spelling, unless the rules name the host. A
connection serves one plain request, so its bytes can go to no second server.

No published proxy fits: proxy.py forks workers that outlive a killed parent and connects blockingly, and mitmproxy
decrypts TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable
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
_CLOUDS = [ipaddress.ip_network(network) for network in ("168.63.129.16/32", "192.0.0.0/24", "64:ff9b:1::/48")]
"""Addresses that are internal though `is_global`, which differs between versions of Python, may say otherwise: Azure's
WireServer, metadata of Oracle's cloud, a local NAT64 (RFC 8215)."""

Resolve = Callable[[str, int], Awaitable[list[str]]]
Direction = tuple[asyncio.StreamReader, asyncio.StreamWriter]
"""Where bytes come from and where they go."""


class RefusedError(Exception):
    """A request that the rules refuse; the message is the reason."""


@dataclass(frozen=True)
class Rules:
    """Which hosts may be reached. Patterns are shell patterns of host names, such as `*.example.org`, or of
    host:port."""

    allowed: list[str] = field(default_factory=lambda: ["*"])
    blocked: list[str] = field(default_factory=list)
    private: list[str] = field(default_factory=list)
    """Hosts, or host:port, that need no entry in `allowed` and may have addresses that are not public."""
    refusal_header: str = "X-Waymark-Refusal"
    """Header that marks the guard's own answers and holds the reason. `EgressGuard` makes a random one."""

    async def addresses(self, host: str, port: int, resolve: Resolve) -> list[str]:
        """The allowed IP addresses of a host, from one resolution.

        Raises:
            RefusedError: the host is not allowed, or has no address, or has no public one.
        """
        host = host.strip("[]").rstrip(".").lower()
        names = (host, f"{host}:{port}")
        if matches(names, self.blocked):
            raise RefusedError(f"{host} is on the list of blocked hosts")
        trusted = matches(names, self.private)
        if not trusted and not matches(names, self.allowed):
            raise RefusedError(f"{host} is not on the list of allowed hosts")
        try:
            resolved = await resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise RefusedError(f"{host} has no address") from error
        usable = [address for address in resolved if trusted or is_public(address)]
        if not usable:
            raise RefusedError(f"{host} leads to {', '.join(resolved) or 'nowhere'}, which is no public address")
        return usable


def matches(names: Iterable[str], patterns: Iterable[str]) -> bool:
    """Whether one of a host's names, with or without its port, is of one of the patterns."""
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def is_public(address: str) -> bool:
    """Whether an IP address is on the public internet. An IPv6 form that carries an IPv4 address is judged by that
    one."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inside = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inside is None and ip in _NAT64:
            inside = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inside is not None:
            return is_public(str(inside))
        if ip.is_site_local:
            return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _CLOUDS)


async def resolve(host: str, port: int) -> list[str]:
    """The IP addresses that the system's resolver gives for a name, without duplicates."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


class Proxy:
    """The proxy; `start` makes it listen."""

    def __init__(self, rules: Rules, resolve: Resolve = resolve) -> None:
        self.rules = rules
        self._resolve = resolve
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen on a free loopback port and return the port."""
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
            await relay((reader, upstream), (from_server, writer))
        except RefusedError as error:
            reason = f"the egress guard refused it: {error}"
            _answer(writer, 403, "Forbidden", reason, self.rules.refusal_header)
        except (TimeoutError, OSError) as error:
            if upstream is None:
                reason = f"the server cannot be reached: {error or 'no answer'}"
                _answer(writer, 502, "Bad Gateway", reason, self.rules.refusal_header)
        except asyncio.CancelledError:
            pass  # the proxy ends; asyncio would print the cancellation of this task
        except (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            _answer(writer, 400, "Bad Request", "not a request to a proxy")
        finally:
            for end in (upstream, writer):
                if end is not None:
                    with contextlib.suppress(
                        Exception, asyncio.CancelledError
                    ):  # cancelled a second time while it waits
                        end.close()
                        await end.wait_closed()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        last: OSError | TimeoutError | None = None
        for address in await self.rules.addresses(host, port, self._resolve):
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    return await asyncio.open_connection(address, port)
            except (OSError, TimeoutError) as error:
                last = error
        raise last or OSError("no address")


def _read_head(head: bytes) -> tuple[bytes, str, int, bytes]:
    """Method, host, port, and the head to forward (in origin form, one request per connection).

    Raises:
        ValueError: the head is not a request that a proxy can serve.
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
    """Copy bytes from one side to the other until the first side ends."""
    while True:
        async with asyncio.timeout(IDLE_TIMEOUT_S):
            data = await reader.read(CHUNK)
        if not data:
            break
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def relay(upwards: Direction, downwards: Direction) -> None:
    """Copy bytes both ways, to and from a server, until the server's side ends."""
    up, down = asyncio.ensure_future(_pump(*upwards)), asyncio.ensure_future(_pump(*downwards))
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
    """Serve until standard input closes; replace the rules by those of each further line."""
    proxy = Proxy(Rules(**json.loads(sys.stdin.readline())))
    print(await proxy.start(), flush=True)
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        proxy.rules = Rules(**json.loads(line))
        print("replaced", flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
