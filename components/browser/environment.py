"""The interfaces of an episode's browser (`Environment`) and of a pool of them (`Environments`).

`Session` and `BrowserPool` implement them in this process, `rollout.RayPool` on the machines of a Ray cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, Self

from components.browser.axtree import Placed
from components.records import Observation, Probe, Reading, StateCheck, Task, ToolCall


@dataclass(frozen=True)
class StepResult:
    """A turn's result: one line of feedback per call, the page afterwards, and the answer if `done` was called.

    `late_actions` counts the calls that acted on a page after it had ended its task; None if no page of the site does.
    """

    feedback: list[str]
    observation: Observation
    answer: str | None
    done: bool
    late_actions: int | None = None


class Environment(Protocol):
    """One episode's browser. `Session` documents the methods and their errors."""

    @property
    def timings(self) -> dict[str, float]:
        """Seconds of the last `start` or `step`: queue, navigate, act (until the page is quiet), look, screenshot."""

    @property
    def requests(self) -> int:
        """Number of requests of the episode's pages; 0 on the pool's own site, where they are not counted."""

    @property
    def health(self) -> dict[str, float]:
        """The browser's state after an operation failed (see `BrowserPool.health`); empty before."""

    async def start(self, task: Task) -> Observation:
        """Open the task's start page; returns the first observation."""

    async def step(self, calls: Sequence[ToolCall]) -> StepResult:
        """Run the calls of one turn."""

    async def site_reward(self) -> float | None:
        """The site's raw reward of the episode; None where the site has none."""

    async def check_state(self) -> StateCheck | None:
        """What the episode changed, compared with what its task asks for; None where the site has no state."""

    async def read(self, probe: Probe) -> Reading:
        """Answer a rule's question about a page at the end of the episode."""

    async def oracle(self) -> str:
        """The element list of the active tab as it is now, for the scripted teacher only."""

    async def oracle_elements(self) -> list[Placed]:
        """The accessible elements of the active tab with their ids, for the scripted teacher only."""


class Environments(Protocol):
    """Browsers for many episodes at once; an async context manager."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *exc: object) -> None: ...

    def session(self, task: Task | None = None) -> AbstractAsyncContextManager[Environment]:
        """Wait for a free browser for one episode.

        Args:
            task: the episode's task, which decides which site the browser reaches; None if there is only one site.
        """
        ...
