"""One queue per kind of operation (WebGym, appendix B.1).

With many more episodes than cores, operations wait for the processor. With one queue for all, the first episodes'
screenshots would wait behind the navigations of all others, and the policy would have nothing to answer. Here each kind
of operation has a queue of its own, with a limit on how many run at once, in order of arrival.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from components.browser.deadline import Deadline
from components.params import QueueParams


class OperationQueues:
    """The queues of a pool. A kind of operation without a limit has no queue."""

    def __init__(self, params: QueueParams) -> None:
        self._semaphores = {
            kind: asyncio.Semaphore(width) for kind, width in params.model_dump().items() if width is not None
        }

    @contextlib.asynccontextmanager
    async def turn(self, kind: str, deadline: Deadline | None) -> AsyncIterator[float]:
        """Wait in the queue of `kind` while the deadline is paused. Yields the seconds waited."""
        semaphore = self._semaphores.get(kind)
        if semaphore is None:
            yield 0.0
            return
        began = time.monotonic()
        with deadline.paused() if deadline is not None else contextlib.nullcontext():
            await semaphore.acquire()
        try:
            yield time.monotonic() - began
        finally:
            semaphore.release()
