"""Time limits of the operations on one page, which do not run while a dialog freezes the page."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

NAVIGATION_S = 8.0
"""A page answers nothing while it navigates and the server has not answered. After so many seconds the navigation is
stopped; a `goto_url` has a limit of its own. It is less than `PROBE_TIMEOUT_S`, so that the page can still answer."""


class PageLimits:
    """The limits of one tab. A page with an open dialog answers nothing, so its time does not count."""

    def __init__(self) -> None:
        self.navigation_s = NAVIGATION_S
        """Seconds for which the page may leave a question unanswered because it navigates."""
        self.thaws = 0
        """Number of dialogs that froze the page and were closed."""
        self._thawed_at: float | None = None
        self._is_frozen = False
        self._running: dict[asyncio.Timeout, float] = {}

    @contextlib.asynccontextmanager
    async def limit(self, seconds: float) -> AsyncIterator[None]:
        """A time limit.

        Raises:
            TimeoutError: the time is over.
        """
        async with asyncio.timeout(None if self._is_frozen else seconds) as timeout:
            self._running[timeout] = seconds
            try:
                yield
            finally:
                del self._running[timeout]

    @property
    def since_thaw_ms(self) -> float | None:
        """Milliseconds since the last such dialog was closed; None if there was none."""
        return None if self._thawed_at is None else (time.monotonic() - self._thawed_at) * 1000

    def freeze(self) -> None:
        """A dialog opened: no limit runs until `thaw`."""
        self._is_frozen = True
        for timeout in self._running:
            if not timeout.expired():
                timeout.reschedule(None)

    def thaw(self) -> None:
        """The dialog was closed: all limits begin again."""
        self._is_frozen = False
        self.thaws += 1
        self._thawed_at = time.monotonic()
        now = asyncio.get_running_loop().time()
        for timeout, seconds in self._running.items():
            if not timeout.expired():
                timeout.reschedule(now + seconds)
