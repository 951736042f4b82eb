"""One queue per kind of operation (WebGym, appendix B.1).

With many more episodes than cores, operations wait for the machine. In one queue, the first episodes' screenshots would
stand behind the navigations of all others, and the policy would have nothing to answer. Here each kind has its own: so
many of it at once, first come first served, and none before another.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from components.browser.bounds import Limit
from components.params import QueueParams


class Queues:
    """The queues of a pool. A kind without a limit has none."""

    def __init__(self, params: QueueParams) -> None:
        self._turns = {
            kind: asyncio.Semaphore(width) for kind, width in params.model_dump().items() if width is not None
        }

    @contextlib.asynccontextmanager
    async def turn(self, kind: str, limit: Limit | None) -> AsyncIterator[float]:
        """Wait for one's turn, which costs nothing of the limit; gives the seconds waited."""
        queue = self._turns.get(kind)
        if queue is None:
            yield 0.0
            return
        began = time.monotonic()
        with limit.paused() if limit is not None else contextlib.nullcontext():
            await queue.acquire()
        try:
            yield time.monotonic() - began
        finally:
            queue.release()
