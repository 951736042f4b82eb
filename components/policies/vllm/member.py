"""What a `Fleet` needs of a server, whether it starts the server or has its URL."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

RELOAD_TIMEOUT_S = 600.0

IsHealthy = Callable[[], Awaitable[bool]]


class ServerError(RuntimeError):
    """A vLLM server does not start, cannot be used, or refuses a request."""


@dataclass
class Weights:
    """The weights that all servers of a fleet have.

    Attributes:
        model: a directory or Hugging Face name.
        adapter: a directory with an adapter in PEFT's format.
        number: counts the adapters.
        lend: lends the tensors of a model in the memory of this process's GPU, as `components.model.lending` describes
            them; they then replace those of `model`.
    """

    model: str
    adapter: Path | None = None
    number: int = 0
    lend: Callable[[], AbstractContextManager[list[dict[str, Any]]]] | None = None


class Server(ABC):
    """One server and its state."""

    health_path = "/health"
    max_starts = 3
    """Number of tries to start the server again after it died."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.requests = 0
        """Requests in flight."""
        self.deaths = 0
        """Deaths since the last answer."""
        self.loading = False
        """Whether it loads weights, during which it answers no health check."""
        self.ready = asyncio.Event()

    @property
    @abstractmethod
    def url(self) -> str:
        """Its address, without a path."""

    @property
    def headers(self) -> dict[str, str]:
        """Headers of each request."""
        return {}

    @property
    @abstractmethod
    def life(self) -> object:
        """An object for this run of the server; each start makes another one."""

    @abstractmethod
    async def problem(self) -> str | None:
        """What must be changed before the server can be used, in a sentence; None if nothing."""

    async def claim(self) -> bool:
        """Whether this stage may use the server now; False while another one has it for itself.

        Raises:
            ServerError: the server is lost, or refuses this stage.
        """
        return True

    @abstractmethod
    async def show_life(self) -> None:
        """Tell a server that may be shared with other stages that this stage still uses it. Its answer is ignored."""

    @abstractmethod
    async def start(self, is_healthy: IsHealthy) -> None:
        """Return when the server is up and has the weights of the fleet.

        Raises:
            ServerError: it cannot be used.
        """

    @abstractmethod
    async def stop(self) -> None:
        """End the use of the server, and the server itself if the fleet started it."""

    @abstractmethod
    async def end_life(self) -> None:
        """End what is left of a server that died or hangs, before it starts again, if the fleet started it."""

    @abstractmethod
    def give_up(self) -> None:
        """Count the server as dead, and kill it if the fleet started it."""

    @abstractmethod
    async def wait_for_end(self, life: object, within_s: float) -> bool:
        """Wait for at most `within_s` seconds until the run `life` of the server ends. Returns whether it ended."""

    def is_as_left(self, health: httpx.Response) -> bool:
        """Whether a health check shows the server in the state in which the fleet left it."""
        return True

    async def generate(self, question: dict[str, Any]) -> httpx.Response:
        """Send a request for a response.

        Raises:
            httpx.TransportError: the connection broke, or the server is lost.
        """
        return await self._client.post(f"{self.url}/generate", json=question, headers=self.headers)

    @abstractmethod
    def weights_fields(self) -> dict[str, Any]:
        """Fields of a request for a response that name the weights."""

    @abstractmethod
    async def load(self) -> None:
        """Load the fleet's weights.

        Raises:
            ServerError: the server cannot load them.
            httpx.TransportError: the connection broke.
        """

    async def sleep(self) -> None:
        """Give up its GPU memory until it is woken; a server that others may use does not.

        Raises:
            ServerError: it refuses.
            httpx.TransportError: the connection broke.
        """
        raise ServerError(f"the server {self.url} does not sleep: set inference.vllm.sleeps to false")

    async def wake(self, part: str) -> None:
        """Take back the GPU memory of the `weights` or of the `kv_cache`.

        Raises:
            ServerError: it cannot.
            httpx.TransportError: the connection broke.
        """
        raise ServerError(f"the server {self.url} does not sleep: set inference.vllm.sleeps to false")

    @abstractmethod
    def last_words(self) -> str:
        """What is known about its end."""
