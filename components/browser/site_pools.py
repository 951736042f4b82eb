"""Browsers for a run with several sites: one pool per site, one limit on episodes over all of them.

Each pool has its own Chromium and its own egress guard, so an episode on one site reaches no other site and not the
web, whatever else the run has.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from components.browser.environment import Environment, Environments
from components.browser.pool import BrowserPool
from components.browser.site import Site, site_of
from components.params import BrowserParams, TextKind
from components.records import Task


def open_browsers(params: BrowserParams, sites: Sequence[Site | None], text: TextKind = "none") -> Environments:
    """Browsers for episodes on these sites, not started yet.

    Args:
        sites: what is served, one per world; None stands for pages on the web.
    """
    return BrowserPool(params, sites[0], text) if len(sites) == 1 else SitePools(params, sites, text)


class SitePools:
    """An async context manager; `session(task)` waits for a free slot, then gives a browser of the task's site."""

    def __init__(self, params: BrowserParams, sites: Sequence[Site | None], text: TextKind = "none") -> None:
        self._sites = list(sites)
        self._pools = [BrowserPool(params, site, text) for site in sites]
        self._slots = asyncio.Semaphore(params.concurrency)
        self._started = contextlib.AsyncExitStack()

    async def __aenter__(self) -> SitePools:
        """Start all browsers, so that what is missing is said before the first episode."""
        try:
            for pool in self._pools:
                await self._started.enter_async_context(pool)
        except BaseException:
            await self._started.aclose()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._started.aclose()

    @contextlib.asynccontextmanager
    async def session(self, task: Task | None = None) -> AsyncIterator[Environment]:
        """A browser for an episode of this task.

        Raises:
            ValueError: no site of this run serves the task, or none is given.
            SandboxError: no browser could be started.
        """
        if task is None:
            raise ValueError("a run with several sites needs the task, which decides whose browser the episode gets")
        pool = self._pools[site_of(self._sites, task)]
        async with self._slots, pool.session() as session:
            yield session
