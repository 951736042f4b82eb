"""A time limit that ends early when the browser dies."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

from playwright.async_api import Browser


class Deadline:
    """The time limit of one operation. `expire` ends the operation now, with `TimeoutError`."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._is_over = False

    def expire(self, *_: object) -> None:
        """End the operation now. Accepts and ignores the arguments of Playwright's events."""
        self._is_over = True
        if not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time())

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """The time spent within does not count."""
        loop, end = asyncio.get_running_loop(), self._timeout.when()
        began = loop.time()
        if end is None or self._is_over or self._timeout.expired():
            yield
            return
        self._timeout.reschedule(None)
        yield
        if not self._is_over and not self._timeout.expired():
            self._timeout.reschedule(end + loop.time() - began)


@contextlib.asynccontextmanager
async def deadline(limit_s: float, browser: Browser | None) -> AsyncIterator[Deadline]:
    """Limit an operation to `limit_s` seconds and end it when the browser disconnects.

    Playwright leaves some calls unanswered when the browser dies (`new_page`, for example).

    Raises:
        TimeoutError: the time is over, or the browser disconnected.
    """
    async with asyncio.timeout(limit_s) as timeout:
        limit = Deadline(timeout)
        if browser is not None:
            browser.on("disconnected", limit.expire)
        try:
            yield limit
        finally:
            if browser is not None:
                browser.remove_listener("disconnected", limit.expire)
