"""The usual site of a world: one server on loopback, whose pages know at most of an episode's reward."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.async_api import Page

    from components.browser import SiteEpisode
    from components.params import ContextParams
    from components.records import StateCheck, Task


class PageServer(Protocol):
    """A server that runs from its construction until `stop`."""

    @property
    def port(self) -> int:
        """Its port on loopback."""
        ...

    def stop(self) -> None:
        """Stop serving and free the port."""


S = TypeVar("S", bound=PageServer)


class LoopbackSite(ABC, Generic[S]):
    """A `browser.Site` with one server for all its origins. A subclass sets `origins` and makes the server."""

    origins: ClassVar[tuple[str, ...]]
    instruction: str | None = None
    names_options: bool = True
    keeps_cache: bool = True
    keeps_page: bool = False
    lists_details: bool = True
    awaits_requests: bool = True
    context: ContextParams | None = None

    def __init__(self) -> None:
        self._running: S | None = None

    @property
    def rewards(self) -> bool:
        """Whether the subclass has a `reward` of its own."""
        return type(self).reward is not LoopbackSite.reward

    @abstractmethod
    def serve(self) -> S:
        """Start the server. It may take its time: this runs in a thread of its own."""

    @property
    def is_served(self) -> bool:
        """Whether the pages are served now."""
        return self._running is not None

    @property
    def server(self) -> S:
        """The running server.

        Raises:
            RuntimeError: the pages are not served yet.
        """
        if self._running is None:
            raise RuntimeError("the site is not served yet; `await site.start()` first, or give it to a BrowserPool")
        return self._running

    async def start(self) -> None:
        """Start to serve on loopback. Raises what `serve` raises."""
        if self._running is None:
            self._running = await asyncio.to_thread(self.serve)

    async def stop(self) -> None:
        """Stop serving."""
        server, self._running = self._running, None
        if server is not None:
            await asyncio.to_thread(server.stop)

    def addresses(self) -> dict[str, int]:
        """The server's port for the host of each origin."""
        return {urlsplit(origin).hostname or "": self.server.port for origin in self.origins}

    async def begin(self, task: Task) -> SiteEpisode:
        """An episode whose cookies, readiness and reward are given by the methods below."""
        return PageEpisode(self, task)

    def cookies(self, task: Task) -> Mapping[str, str]:
        """Cookies that are set on each origin. None by default: every episode has the same pages."""
        return {}

    async def ready(self, page: Page) -> str | None:
        """None if a page with a title is shown, otherwise what is wrong."""
        return None if await page.title() else "the page has no title"

    async def reward(self, page: Page) -> float | None:
        """None: the pages know of no task."""
        return None

    async def ended(self, page: Page) -> bool | None:
        """None: no page ends a task by itself; an episode ends when the agent calls `done`."""
        return None


class PageEpisode:
    """An episode on a site whose server keeps no data of it: the pages tell the reward, if there is one."""

    loss: str | None = None

    def __init__(self, site: LoopbackSite[Any], task: Task) -> None:
        from components.browser import SiteCookie

        cookies = site.cookies(task)
        self.cookies = [SiteCookie(origin, *cookie) for origin in site.origins for cookie in cookies.items()]
        self._site = site

    async def ready(self, page: Page) -> str | None:
        """See `LoopbackSite.ready`."""
        return await self._site.ready(page)

    async def reward(self, page: Page) -> float | None:
        """See `LoopbackSite.reward`."""
        return await self._site.reward(page)

    async def ended(self, page: Page) -> bool | None:
        """See `LoopbackSite.ended`."""
        return await self._site.ended(page)

    async def check_state(self, answer: str | None) -> StateCheck | None:
        """None: there is no state."""
        return None

    async def end(self) -> None:
        """There is nothing to free."""
