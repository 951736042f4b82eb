"""The egress guard: what it lets through, that nothing goes around it, and that it lives and dies with its pool."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from components.browser import BrowserPool, EnvError, EnvInitError, check_call
from components.browser.egress import EgressGuard, allows
from components.browser.egress_proxy import Proxy, RefusedError, Rules, is_public
from components.params import BrowserParams, EgressParams
from tests.browser.conftest import PARAMS, task

PUBLIC = "93.184.215.14"


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
     "192.0.2.1", "224.0.0.1", "239.255.255.250", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1",
     "ff02::1", "::ffff:127.0.0.1", "::ffff:a00:1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::",
     "2001:db8::1", "192.0.0.192", "168.63.129.16", "fec0::1", "64:ff9b:1::a00:1"],
)  # fmt: skip
def test_special_addresses_are_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", [PUBLIC, "1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"])
def test_ordinary_addresses_are_public(address):
    assert is_public(address)


def addresses(rules: Rules, host: str, found: list[str], port: int = 443) -> list[str]:
    async def resolve(name: str, number: int) -> list[str]:
        return found

    return asyncio.run(rules.addresses(host, port, resolve))


def test_host_rules_allow_block_and_open_private_hosts_by_name():
    rules = Rules(allowed=["*.example.org", "example.org"], blocked=["bad.example.org"], private=["shop:7770"])
    assert addresses(rules, "www.example.org", [PUBLIC]) == [PUBLIC]
    assert addresses(rules, "EXAMPLE.org.", [PUBLIC]) == [PUBLIC]
    assert addresses(rules, "shop", ["10.0.0.7"], port=7770) == ["10.0.0.7"]
    for host, port in (("other.org", 443), ("bad.example.org", 443), ("example.org.evil.com", 443), ("shop", 22)):
        with pytest.raises(RefusedError, match=host):
            addresses(rules, host, [PUBLIC], port)


def test_ports_may_be_blocked_and_private_hosts_may_be_patterns():
    rules = Rules(blocked=["example.org:8443"], private=["*.corp"])
    assert addresses(rules, "example.org", [PUBLIC], port=443) == [PUBLIC]
    with pytest.raises(RefusedError, match="blocked"):
        addresses(rules, "example.org", [PUBLIC], port=8443)
    assert addresses(rules, "wiki.corp", ["10.0.0.7"]) == ["10.0.0.7"]
    params = EgressParams(blocked_hosts=["example.org:8443"], private_hosts=["*.corp"], allowed_hosts=["example.org"])
    urls = ("https://example.org/", "https://example.org:8443/", "http://wiki.corp/", "http://corp/")
    assert [allows(params, url) for url in urls] == [True, False, True, False]


def test_an_allowed_port_of_a_host_leads_to_public_addresses_only():
    rules = Rules(allowed=["cdn.example:3000"])
    assert addresses(rules, "cdn.example", [PUBLIC], port=3000) == [PUBLIC]
    with pytest.raises(RefusedError, match="is not on the list"):
        addresses(rules, "cdn.example", [PUBLIC], port=443)
    with pytest.raises(RefusedError, match="which is no public address"):
        addresses(rules, "cdn.example", ["127.0.0.1"], port=3000)


def test_only_public_ones_of_several_addresses_are_connected():
    assert addresses(Rules(), "mixed.org", ["127.0.0.1", PUBLIC, "::1"]) == [PUBLIC]
    with pytest.raises(RefusedError, match=r"leads to 10\.0\.0\.1, which is no public address"):
        addresses(Rules(), "inside.org", ["10.0.0.1"])


# ---- the proxy on the wire ------------------------------------------------------------------------------------------


class Upstream:
    """A server that keeps what it was sent and echoes what follows a head."""

    def __init__(self) -> None:
        self.received = b""
        self.connections = 0
        self.port = 0

    async def __aenter__(self) -> Upstream:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while data := await reader.read(1000):
            self.received += data
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" if b"HTTP/1.1" in data else data)
            if b"close" in data:
                break
        writer.close()


async def ask(port: int, data: bytes, then: bytes = b"") -> bytes:
    """What a proxy answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    answer = await reader.read(1000)
    if then:
        writer.write(then)
        answer += await reader.read(1000)
    with contextlib.suppress(OSError):
        writer.close()
    return answer


def test_requests_and_tunnels_reach_only_allowed_hosts():
    async def scenario():
        async with Upstream() as friend, Upstream() as stranger:
            proxy = await Proxy(Rules(private=[f"127.0.0.1:{friend.port}"])).start()
            hidden = f"GET http://127.0.0.1:{stranger.port}/ HTTP/1.1\r\n\r\n".encode()
            got = await ask(
                proxy,
                f"POST http://127.0.0.1:{friend.port}/a?b=c HTTP/1.1\r\nHost: x\r\nProxy-Authorization: secret\r\n"
                f"Content-Length: {len(hidden)}\r\n\r\n".encode()
                + hidden,
            )
            tunnel = await ask(proxy, f"CONNECT 127.0.0.1:{friend.port} HTTP/1.1\r\n\r\n".encode(), b"ping")
            refused = [
                await ask(proxy, request.format(stranger.port).encode() + b"\r\n\r\n")
                for request in ("GET http://127.0.0.1:{}/ HTTP/1.1", "CONNECT 127.0.0.1:{} HTTP/1.1",
                                "GET http://x@127.0.0.1:{}/ HTTP/1.1", "CONNECT [::ffff:127.0.0.1]:{} HTTP/1.1")
            ]  # fmt: skip
            wrong = [
                await ask(proxy, head + b"\r\n\r\n")
                for head in (
                    b"GET / HTTP/1.1",
                    b"GET ftp://a/ HTTP/1.1",
                    b"CONNECT nowhere HTTP/1.1",
                    b"\x00",
                    b"GET http:// x",
                )
            ]
            return got, friend.received, tunnel, refused, wrong, stranger.connections

    got, received, tunnel, refused, wrong, strangers = asyncio.run(scenario())
    assert got.endswith(b"ok")
    assert received.startswith(b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: ")
    assert b"secret" not in received
    assert tunnel.endswith(b"\r\n\r\nping")
    assert all(b"403 Forbidden" in answer and b"127.0.0.1" in answer for answer in refused)
    assert all(b"400 Bad Request" in answer for answer in wrong)
    assert strangers == 0


def test_a_name_is_looked_up_once_and_its_address_kept():
    """DNS rebinding: a name that is public when asked and private a moment later."""
    asked = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return [PUBLIC] if len(asked) > 1 else ["127.0.0.1"]

    async def scenario():
        async with Upstream() as server:
            proxy = await Proxy(Rules(), resolve).start()
            return await ask(proxy, f"CONNECT rebind.org:{server.port} HTTP/1.1\r\n\r\n".encode()), server.connections

    answer, connections = asyncio.run(scenario())
    assert (b"403" in answer, connections, asked) == (True, 0, ["rebind.org"])


def test_a_server_that_is_not_there_is_a_bad_gateway():
    async def scenario():
        async with Upstream() as server:
            port = server.port
        proxy = await Proxy(Rules(private=["127.0.0.1"])).start()
        return await ask(proxy, f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())

    assert b"502 Bad Gateway" in asyncio.run(scenario())


# ---- behind a browser -----------------------------------------------------------------------------------------------


def params(origin: str) -> BrowserParams:
    return BrowserParams(
        viewport=(300, 200), concurrency=1, start_timeout_s=20, step_timeout_s=20, navigation_retries=0, settle_ms=500,
        egress=EgressParams(private_hosts=[origin.removeprefix("http://")]),
    )  # fmt: skip


def test_no_server_can_learn_the_mark_on_the_guards_answers(pages):
    """A page that could speak for the guard would have itself counted as unreachable."""
    known = EgressGuard(EgressParams()).refusal_header
    forged = {"X-Waymark-Refusal": "not now", known: "not now"}
    url = pages.add("/forged", "here", **forged)

    async def scenario():
        async with BrowserPool(params(pages.origin)) as pool, pool.session() as session:
            seen = await session.start(task(url))
            return seen, (await session.step([check_call("goto_url", {"url": url})])).feedback

    seen, said = asyncio.run(scenario())
    assert seen.url == url
    assert said[0].startswith("Succeed:")


def test_a_refused_https_address_names_the_egress_guard(pages):
    params = PARAMS.model_copy(
        update={"egress": EgressParams(private_hosts=["127.0.0.1"], allowed_hosts=["127.0.0.1"])}
    )

    async def visit() -> str:
        async with BrowserPool(params) as pool, pool.session() as session:
            await session.start(task(pages.add("/", "hello")))
            return (await session.step([check_call("goto_url", {"url": "https://refused.example/"})])).feedback[0]

    assert "browser.egress does not allow the host, or nothing answers there" in asyncio.run(visit())
    with pytest.raises(EnvInitError, match=r"browser\.egress does not allow the host"):
        asyncio.run(begin(params, "https://refused.example/"))


async def begin(params: BrowserParams, url: str) -> None:
    async with BrowserPool(params) as pool, pool.session() as session:
        await session.start(task(url))


def test_a_page_reaches_its_own_host_and_no_other(pages):
    url = pages.add("/own", "<script>fetch('/more').then(r => document.title = r.status)</script>")
    pages.add("/more", "more")

    async def scenario():
        async with Upstream() as stranger, BrowserPool(params(pages.origin)) as pool, pool.session() as session:
            seen = await session.start(task(url))
            foreign = f"http://127.0.0.1:{stranger.port}/"
            calls = [check_call("wait", {"seconds": 0.3})]
            calls += [
                check_call("goto_url", {"url": address}) for address in (foreign, f"https://localhost:{stranger.port}")
            ]
            local = (
                "file:///etc/passwd chrome://version view-source:http://a data:text/html,x javascript:void(0) blob:x"
            )
            calls += [check_call("goto_url", {"url": address}) for address in local.split()]
            result = await session.step(calls)
            with pytest.raises(EnvInitError, match="no public address"):
                await session.start(task(foreign))
            return seen, result.feedback, stranger.connections

    seen, said, connections = asyncio.run(scenario())
    assert seen.url == url
    assert pages.hits["/more"] >= 1
    assert "leads to 127.0.0.1, which is no public address" in said[1]
    assert said[2].startswith("Failed: `goto_url`")
    assert all("only http and https pages can be opened" in line for line in said[3:])
    assert connections == 0


@pytest.mark.slow
def test_a_killed_guard_passes_nothing_and_the_next_episode_has_a_new_one(pages):
    url = pages.add("/again", "<p>again")

    async def scenario():
        async with BrowserPool(params(pages.origin)) as pool:
            async with pool.session() as session:
                await session.start(task(url))
                os.kill(pool._guard.pid, signal.SIGKILL)
                await pool._guard._process.wait()
                with pytest.raises(EnvError, match="cannot be reached"):
                    await session.step([check_call("goto_url", {"url": url + "?2"})])
            async with pool.session() as session:
                return (await session.start(task(url))).url

    assert asyncio.run(scenario()) == url
    assert "/again?2" not in pages.hits


def test_new_rules_hold_from_the_next_connection_on():
    async def scenario():
        async with Upstream() as upstream:
            guard, address = EgressGuard(EgressParams(allowed_hosts=[])), f"127.0.0.1:{upstream.port}"
            await guard.start()
            request = f"GET http://{address}/ HTTP/1.1\r\nHost: {address}\r\n\r\n".encode()
            before = await ask(guard.port, request)
            await guard.replace_rules(EgressParams(allowed_hosts=[], private_hosts=[address]))
            after = await ask(guard.port, request)
            await guard.stop()
            return before, after, upstream.connections

    before, after, connections = asyncio.run(scenario())
    assert b"403 Forbidden" in before
    assert b"200 OK" in after
    assert connections == 1


def test_the_guard_ends_with_its_pool_and_with_a_killed_parent():
    async def scenario():
        guard = EgressGuard(EgressParams())
        await guard.start()
        pid = guard.pid
        await guard.stop()
        return pid

    assert not Path(f"/proc/{asyncio.run(scenario())}").exists()
    code = (
        "import asyncio\n"
        "from components.browser.egress import EgressGuard\n"
        "from components.params import EgressParams\n"
        "async def main():\n    guard = EgressGuard(EgressParams())\n    await guard.start()\n"
        "    print(guard.pid, flush=True)\n    await asyncio.sleep(60)\nasyncio.run(main())"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    end = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.slow
def test_the_guard_stops_all_ways_out_and_without_it_most_of_them_work():
    from perf.egress import attempts, try_all

    assert asyncio.run(try_all(guard=True, linger_s=1.0)) == []
    assert len(asyncio.run(try_all(guard=False, linger_s=1.0))) > 0.5 * len(attempts())


def test_a_guard_whose_start_was_cancelled_starts_again():
    async def main() -> int:
        guard = EgressGuard(EgressParams())
        starting = asyncio.create_task(guard.start())
        while guard.pid is None:
            await asyncio.sleep(0.001)
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await starting
        assert guard.pid is None
        await guard.start()
        try:
            return guard.port
        finally:
            await guard.stop()

    assert asyncio.run(main()) > 0
