"""A limit that a dying browser ends early."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

from playwright.async_api import Browser


class Limit:
    """A bounded piece of work; `expire` ends it now, with `TimeoutError`."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._over = False

    def expire(self, *_: object) -> None:
        self._over = True
        if not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time())

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """What happens meanwhile does not count."""
        loop, when = asyncio.get_running_loop(), self._timeout.when()
        began = loop.time()
        if when is None or self._over or self._timeout.expired():
            yield
            return
        self._timeout.reschedule(None)
        yield
        if not self._over and not self._timeout.expired():
            self._timeout.reschedule(when + loop.time() - began)


@contextlib.asynccontextmanager
async def bounded(limit_s: float, browser: Browser | None) -> AsyncIterator[Limit]:
    """Bound a piece of work, and end it when the browser dies: Playwright leaves some calls unanswered then, a
    `new_page` for one.

    Raises:
        TimeoutError: either has happened.
    """
    async with asyncio.timeout(limit_s) as timeout:
        limit = Limit(timeout)
        if browser is not None:
            browser.on("disconnected", limit.expire)
        try:
            yield limit
        finally:
            if browser is not None:
                browser.remove_listener("disconnected", limit.expire)
