"""Limits episodes on public sites: how many run at once per host, the pause between their starts, and a run's budget.

An episode waits first until fewer than `per_host` episodes run on its host, then for its turn (one at a time per host),
then for the pause since the host's last start, and then for a browser. So episodes that wait for a host hold no
browser, and a busy host does not delay the episodes of others. Once the budget is spent, no episode starts; the running
ones end normally, so a run exceeds its budget by at most the cost of `browser.concurrency` episodes.

Accepted trade-offs: an episode counts for the host of its first start page, wherever it goes. Each process counts for
itself, so two runs at once put twice the load on a host.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pydantic import Field

from components.agent import EpisodeSpec
from components.browser import Environment, Environments
from components.params import RolloutParams
from components.records import Record, start_tabs

OpenSession = Callable[[EpisodeSpec], AbstractAsyncContextManager[Environment]]
"""Waits until an episode may start and opens its browser.

Raises:
    EpisodeNotStartedError: the episode may not start.
"""


class EpisodeNotStartedError(Exception):
    """The budget was spent before the episode began. It is not recorded, and a run with a larger budget starts it."""


class RunCost(Record):
    """The cost of a run so far, over all of its restarts."""

    usd: float = 0.0
    minutes: float = 0.0
    tokens: int = 0
    """Tokens that the model read and wrote."""


class Budget(Record):
    """Limits of a run's cost; None is no limit."""

    usd: float | None = Field(default=None, ge=0)
    minutes: float | None = Field(default=None, ge=0)
    """Working time over all restarts."""
    tokens: int | None = Field(default=None, ge=0)

    def used_up(self, spent: RunCost) -> str | None:
        """The limit that was reached, such as `minutes 5 (5.2 spent)`; None if there is none."""
        limits, values = self.model_dump(exclude_none=True), spent.model_dump()
        return next(
            (f"{name} {limit:g} ({values[name]:g} spent)" for name, limit in limits.items() if values[name] >= limit),
            None,
        )


@dataclass
class _Host:
    slots: asyncio.Semaphore
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    next_start: float = float("-inf")


def paced_sessions(pool: Environments, params: RolloutParams) -> OpenSession | None:
    """Opens sessions at the recipe's pace; None if the recipe sets no pace."""
    return PacedSessions(pool, params.per_host, params.host_delay_s).session if params.per_host is not None else None


class PacedSessions:
    """Sessions of a pool, limited per host.

    Args:
        per_host: largest number of episodes at once whose start pages are on one host.
        delay_s: seconds between two starts on one host.
        used_up: called before each start; a reason why no episode may start, or None.
    """

    def __init__(
        self, pool: Environments, per_host: int, delay_s: float, used_up: Callable[[], str | None] = lambda: None
    ) -> None:
        self._pool = pool
        self._per_host = per_host
        self._delay_s = delay_s
        self._used_up = used_up
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def session(self, spec: EpisodeSpec) -> AsyncIterator[Environment]:
        """Wait until the episode may start, and give its browser.

        Raises:
            EpisodeNotStartedError: the budget is spent.
            SandboxError: no browser could be started.
        """
        name = urlsplit(start_tabs(spec.task.start_url)[0]).hostname or spec.task.website
        host = self._hosts.setdefault(name, _Host(asyncio.Semaphore(self._per_host)))
        async with host.slots, AsyncExitStack() as stack:
            async with host.turn:
                self._check_budget()
                await asyncio.sleep(max(0.0, host.next_start - time.monotonic()))
                self._check_budget()
                session = await stack.enter_async_context(self._pool.session(spec.task))
                self._check_budget()  # waiting for a browser may have taken long
                host.next_start = time.monotonic() + self._delay_s
            yield session

    def _check_budget(self) -> None:
        reason = self._used_up()
        if reason is not None:
            raise EpisodeNotStartedError(reason)
