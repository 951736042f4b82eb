"""The vLLM servers of a stage: starts them or uses those at URLs, watches and restarts them, and gives them new weights
between iterations.

A server that dies or hangs loses only its running requests. They are sent again, to another server or to the restarted
one; a request contains all that determines its answer, so sending it twice gives the same answer. Requests that begin
alike go to the same server, whose cache holds their beginning, unless that server is much busier than the others.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from components.agent.policy import RequestClock
from components.policies.vllm.arguments import LORA_RANKS, ServerSettings
from components.policies.vllm.local import LocalServer
from components.policies.vllm.member import Server, ServerError, Weights
from components.policies.vllm.remote import RemoteServer
from components.policies.vllm.shared_weights import SharedWeights

__all__ = ["Fleet", "ServerError"]

HEALTH_INTERVAL_S = 4.0
"""Between two health checks of a running server."""
HEALTH_TIMEOUT_S = 6.0
MAX_UNANSWERED = 3
"""A server hangs when it leaves this many health checks in a row unanswered, each for `HEALTH_TIMEOUT_S`. A busy server
answers between two steps of its engine, of which the longest take a second or two. The total is less than the shortest
`agent.inference_timeout_s` of a recipe, so that requests on a hanging server are sent again in time."""
CLAIM_POLL_S = 2.0
"""Between two tries to use a server that another stage has for itself."""
DEATH_NOTICE_S = 2.0
"""How long the fleet waits for the end of a server after a connection to it broke."""
MAX_DEATHS = 5
"""A server that died this many times in a row, without an answer in between, is not restarted. If so many connections
of one request break while the server lives, the stage ends."""
RESTART_PAUSE_S = 20.0
"""Pause after the first failed start; the next one is twice as long."""
AFFINITY = 8
"""A request goes to the server with its beginning in the cache unless that one has more than this many requests more
than the least busy one."""


class Fleet:
    """An async context manager: the servers of a stage, which all have the same model."""

    def __init__(self, path: str | Path, settings: ServerSettings, logs: Path, changes: bool = False) -> None:
        """
        Args:
            path: the model's directory or Hugging Face name.
            logs: a directory for the servers' logs.
            changes: whether training will change the weights.
        """
        params = settings.vllm
        self._model = settings.model
        self._client = httpx.AsyncClient(
            timeout=None,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
            trust_env=False,
            verify=ssl.create_default_context() if params.urls else False,  # local servers use HTTP without TLS
        )
        self._weights = Weights(str(path))
        shared = SharedWeights(settings, self._weights, changes)
        self._servers: list[Server] = [RemoteServer(url, shared, self._client) for url in params.urls] or [
            LocalServer(number, settings, self._weights, self._client, logs / f"vllm-{number}.log", changes)
            for number in range(params.servers)
        ]
        self._changed = asyncio.Event()
        self._awake = asyncio.Event()
        self._awake.set()
        self._failure: ServerError | None = None
        self._in_flight = asyncio.Semaphore(len(self._servers) * params.max_in_flight)
        self._watchers: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Fleet:
        """Check the servers, and start those that have no URL.

        Raises:
            ServerError: a server does not start, with the last lines of its log; or it is not what the stage needs.
        """
        if self._model.lora is not None and self._model.lora.rank > LORA_RANKS[-1]:
            raise ServerError(f"vLLM serves adapters up to rank {LORA_RANKS[-1]}; lower model.lora.rank")
        try:
            problems = await asyncio.gather(*(server.problem() for server in self._servers))
            if any(problems):
                raise ServerError("\n".join(dict.fromkeys(problem for problem in problems if problem)))
            async with _heartbeat(self._servers):
                await self._claim()
                await asyncio.gather(*(self._start(server) for server in self._servers))
        except BaseException:
            await self.__aexit__()
            raise
        self._watchers = [asyncio.create_task(self._watch(server)) for server in self._servers]
        return self

    async def __aexit__(self, *exc: object) -> None:
        for watcher in self._watchers:
            watcher.cancel()
        await asyncio.gather(*(server.stop() for server in self._servers))
        await self._client.aclose()

    async def generate(
        self, question: dict[str, Any], prefix_hash: int = 0, clock: RequestClock | None = None
    ) -> dict[str, Any]:
        """Send a request to one of the servers, and again if that server dies.

        Args:
            question: prompt, images and sampling (`Question` of `engine/server.py`).
            prefix_hash: equal for requests that begin alike.
            clock: stopped while no server is ready, and for the time that was spent on a server that died.

        Raises:
            ServerError: a server refused the request, servers die of it, or no server starts any more.
        """
        clock = clock or RequestClock()
        with clock.stopped():
            await self._in_flight.acquire()
        try:
            return await self._answer(question, prefix_hash, clock)
        finally:
            self._in_flight.release()

    async def _answer(self, question: dict[str, Any], prefix_hash: int, clock: RequestClock) -> dict[str, Any]:
        deaths = breaks = 0
        while deaths <= MAX_DEATHS:
            with clock.stopped():
                server = await self._pick(prefix_hash)
            life, sent_at = server.life, asyncio.get_running_loop().time()
            server.requests += 1
            try:
                reply = await server.generate({**question, **server.weights_fields()})
            except httpx.TransportError as error:
                broke_at = asyncio.get_running_loop().time()
                with clock.stopped():
                    has_ended = await server.wait_for_end(life, DEATH_NOTICE_S)
                if not has_ended:  # the server or a proxy closed the connection
                    breaks += 1
                    if breaks > MAX_DEATHS:
                        raise _broken(server, breaks, error) from error
                    continue
                with clock.stopped(since=asyncio.get_running_loop().time() - (broke_at - sent_at)):
                    deaths += 1
                    if server.life is life:
                        server.ready.clear()  # the server's watcher may not know yet
                continue
            finally:
                server.requests -= 1
            if reply.status_code in (
                httpx.codes.CONFLICT,
                httpx.codes.LOCKED,
            ):  # it was restarted, and has other weights
                deaths += 1
                if server.life is life:
                    server.ready.clear()
                    server.give_up()
                continue
            if reply.status_code != 200:
                raise ServerError(f"vLLM refused a request ({reply.status_code}): {reply.text[:500]}")
            server.deaths = 0
            return reply.json()
        raise ServerError(f"vLLM died {deaths} times over one request:\n{server.last_words()}")

    async def load(self, path: Path) -> None:
        """Load the weights of a model directory into all servers, and wake those that sleep. The directory must stay,
        because a restarted server reads it again.

        Raises:
            ServerError: a server cannot load them.
        """
        self._weights.model, self._weights.adapter, self._weights.lend = str(path), None, None
        await self._change()

    async def load_adapter(self, path: Path) -> None:
        """Use a LoRA adapter, in PEFT's format, for all later requests, and wake the servers that sleep. The directory
        must stay, too.

        Raises:
            ServerError: a server cannot load it.
        """
        self._weights.number += 1
        self._weights.adapter = path.resolve()
        await self._change()

    async def copy(self, lend: Callable[[], AbstractContextManager[list[dict[str, Any]]]]) -> None:
        """Copy weights from the memory of this process's GPU into all servers, and wake those that sleep.

        Args:
            lend: `WeightLender.lend` of a model on this machine's GPU. It may be called again later, for a restarted
                server, so the model must not change while requests run.

        Raises:
            ServerError: a server cannot copy them.
        """
        self._weights.adapter, self._weights.lend = None, lend
        await self._change()

    async def sleep(self) -> None:
        """Let all servers give up their GPU memory until weights are loaded. No requests may run. A server that dies
        meanwhile is restarted then.

        Raises:
            ServerError: a server refuses.
        """
        while not all(server.ready.is_set() for server in self._servers):  # one may die while another one starts
            await asyncio.gather(*(self._until_ready(server) for server in self._servers))
        self._awake.clear()
        await asyncio.gather(*(self._tell(server, server.sleep) for server in self._servers))

    async def _change(self) -> None:
        """Give all servers the new weights."""
        sleepers = [] if self._awake.is_set() else [server for server in self._servers if server.ready.is_set()]
        lives = [server.life for server in sleepers]
        await asyncio.gather(*(self._tell(server, partial(server.wake, "weights")) for server in sleepers))
        self._awake.set()
        await asyncio.gather(*(self._reload(server) for server in self._servers))
        still = [server for server, life in zip(sleepers, lives, strict=True) if server.life is life]
        await asyncio.gather(*(self._tell(server, partial(server.wake, "kv_cache")) for server in still))

    @property
    def pids(self) -> list[int]:
        """Process ids of the servers that were started here."""
        processes = [server.process for server in self._servers if isinstance(server, LocalServer)]
        return [process.pid for process in processes if process is not None]

    # ---- requests ---------------------------------------------------------------------------------------------------

    async def _pick(self, prefix_hash: int) -> Server:
        while not (ready := [server for server in self._servers if server.ready.is_set()]):
            await self._wait_for_change()
        cached, idlest = ready[prefix_hash % len(ready)], min(ready, key=lambda server: server.requests)
        return cached if cached.requests <= idlest.requests + AFFINITY else idlest

    async def _wait_for_change(self) -> None:
        """Wait until a server becomes ready.

        Raises:
            ServerError: servers are not restarted any more.
        """
        if self._failure is None:
            self._changed.clear()
            await self._changed.wait()
        if self._failure is not None:
            raise self._failure

    async def _reload(self, server: Server) -> None:
        await self._until_ready(server)
        await self._tell(server, server.load)

    async def _until_ready(self, server: Server) -> None:
        while not server.ready.is_set():
            await self._wait_for_change()

    async def _tell(self, server: Server, order: Callable[[], Awaitable[None]]) -> None:
        """Give a server an order, during which it answers no health check. If it dies, the order is void: the restarted
        server has the fleet's weights, and is awake."""
        life, breaks = server.life, 0
        try:
            while True:
                server.loading = True
                try:
                    return await order()
                except httpx.TransportError as error:
                    server.loading = False  # lets the watcher check the server
                    if await server.wait_for_end(life, DEATH_NOTICE_S):
                        return None
                    breaks += 1
                    if breaks > MAX_DEATHS:
                        raise _broken(server, breaks, error) from error
        finally:
            server.loading = False

    # ---- restarts ---------------------------------------------------------------------------------------------------

    async def _watch(self, server: Server) -> None:
        """Restart a server whenever it dies or hangs."""
        try:
            while True:
                await self._wait_for_failure(server)
                server.ready.clear()
                server.deaths += 1
                await server.end_life()
                await self._awake.wait()  # until then, the trainer has the memory
                if server.deaths > MAX_DEATHS:
                    raise ServerError(f"vLLM died {server.deaths} times in a row:\n{server.last_words()}")
                await self._restart(server)
        except Exception as error:  # no code awaits this task, and requests would wait for the server for ever
            if not isinstance(error, ServerError):
                error = ServerError(f"{server.url} cannot be started again ({error!r}): {server.last_words()}")
            self._failure = error
            self._changed.set()

    async def _restart(self, server: Server) -> None:
        """Start a server that died. It may fail while the memory of the one before is not free yet, so it is tried
        `server.max_starts` times.

        Raises:
            ServerError: the last attempt failed.
        """
        for attempt in range(1, server.max_starts + 1):
            try:
                async with _heartbeat([server]):
                    await self._start(server)
            except (ServerError, httpx.TransportError) as error:
                if attempt == server.max_starts:
                    raise
                print(f"the vLLM server at {server.url} is started once more: {error}", flush=True)
                await server.end_life()
                await asyncio.sleep(attempt * RESTART_PAUSE_S)
            else:
                return

    async def _wait_for_failure(self, server: Server) -> None:
        """Wait until a server dies, or hangs and is given up. A server that loads weights answers no health check."""
        unanswered = 0
        while not await server.wait_for_end(server.life, HEALTH_INTERVAL_S):
            is_well = await self._is_healthy(server) or server.loading
            unanswered = 0 if is_well else unanswered + 1
            if unanswered == MAX_UNANSWERED:
                server.give_up()

    async def _claim(self) -> None:
        """Wait until no other stage needs a server for itself. All stages claim servers in the same order, so that no
        two wait for one another."""
        servers = sorted(self._servers, key=lambda server: server.url)
        for server in servers:
            is_told = False
            while not await server.claim():
                if not is_told:
                    print(f"waiting for the vLLM server at {server.url}, which another stage uses", flush=True)
                is_told = True
                await asyncio.sleep(CLAIM_POLL_S)

    async def _start(self, server: Server) -> None:
        await server.start(lambda: self._is_healthy(server))
        server.ready.set()
        self._changed.set()

    async def _is_healthy(self, server: Server) -> bool:
        try:
            url = f"{server.url}{server.health_path}"
            reply = await self._client.get(url, headers=server.headers, timeout=HEALTH_TIMEOUT_S)
        except httpx.HTTPError:
            return False
        return reply.status_code == 200 and server.is_as_left(reply)


@asynccontextmanager
async def _heartbeat(servers: Sequence[Server]) -> AsyncIterator[None]:
    """Tell servers every few seconds that this stage uses them, while they start. A start can take minutes, because the
    stage sends the weights over the network. Once a server runs, its watcher's health checks tell it the same."""

    async def beat() -> None:
        while True:
            await asyncio.gather(*(server.show_life() for server in servers))
            await asyncio.sleep(HEALTH_INTERVAL_S)

    heart = asyncio.create_task(beat())
    try:
        yield
    finally:
        heart.cancel()
        await asyncio.gather(heart, return_exceptions=True)


def _broken(server: Server, times: int, error: httpx.TransportError) -> ServerError:
    """The error for connections that break one after the other while their server lives."""
    return ServerError(
        f"the connection to the vLLM server at {server.url} broke {times} times in a row, and the server lives "
        f"({type(error).__name__}: {error}): if a proxy or load balancer stands between, raise its limits of time and "
        "size, or name the server itself in inference.vllm.urls"
    )
