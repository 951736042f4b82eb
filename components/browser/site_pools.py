"""Browsers for a run with several sites: one pool per site, one limit on episodes over all of them.

Each pool has its own Chromium and its own egress guard, so an episode on one site reaches no other site and not the
web, whatever else the run has.

A world may serve the same origins by several sites, each with a server process of its own (`World.sites`). An episode
then goes to the site that has the fewest, and its browser can reach that site's server alone: Chromium itself maps the
hosts to one port, so nothing in between adds latency, and no page can name another server.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Sequence

from components.browser.environment import Environment, Environments
from components.browser.pool import BrowserPool
from components.browser.site import Site, has_origins_of, sites_of
from components.params import BrowserParams, TextKind
from components.records import Task


def open_browsers(params: BrowserParams, sites: Sequence[Site | None], text: TextKind = "none") -> Environments:
    """Browsers for episodes on these sites, not started yet.

    Args:
        sites: what is served (`Worlds.sites`); None stands for pages on the web.
    """
    return BrowserPool(params, sites[0], text) if len(sites) == 1 else SitePools(params, sites, text)


class SitePools:
    """An async context manager; `session(task)` waits for a free slot, then gives a browser of the task's site."""

    def __init__(self, params: BrowserParams, sites: Sequence[Site | None], text: TextKind = "none") -> None:
        self._sites = list(sites)
        self._pools = [BrowserPool(_part(params, sites, site), site, text) for site in sites]
        self._episodes = [0] * len(self._pools)
        """Number of episodes that each pool has now."""
        self._slots = asyncio.Semaphore(params.concurrency)
        self._started = contextlib.AsyncExitStack()

    async def __aenter__(self) -> SitePools:
        """Start all servers and browsers at once, so that what is missing is said before the first episode."""
        try:
            starting = [self._started.enter_async_context(pool) for pool in self._pools]
            for outcome in await asyncio.gather(*starting, return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome
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
        serving = sites_of(self._sites, task)
        async with self._slots:
            index = min(serving, key=self._episodes.__getitem__)
            self._episodes[index] += 1
            try:
                async with self._pools[index].session() as session:
                    yield session
            finally:
                self._episodes[index] -= 1


def _part(params: BrowserParams, sites: Sequence[Site | None], site: Site | None) -> BrowserParams:
    """The parameters of a site's pool: sites of the same origins divide the slots among them."""
    parts = sum(has_origins_of(other, site) for other in sites)
    return params.model_copy(update={"concurrency": math.ceil(params.concurrency / parts)})
