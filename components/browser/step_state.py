"""What a session keeps while one step runs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Iterable, Mapping

from components.browser.operation_guard import OperationGuard
from components.browser.page_state import PageState
from components.browser.queues import OperationQueues
from components.browser.tab import Tab

OBSERVATION_S = 3.0
"""For the observation of a quiet page, on a busy machine."""


class StepState:
    """The state of the `start` or `step` that runs, or of the last one.

    Args:
        queues: the pool's queues, in which operations wait for their turn.
        guard: the episode's guard, whose deadline does not run meanwhile.
    """

    def __init__(self, queues: OperationQueues, guard: OperationGuard) -> None:
        self.timings: dict[str, float] = {}
        """Seconds per kind of operation; see `Environment.timings`."""
        self.is_last_call = False
        """Whether the turn's last call runs, or all have run: what is read from the page now is what the agent sees."""
        self.requests_before: Mapping[Tab, int] = {}
        """Number of requests of each tab when the step began."""
        self._queues = queues
        self._guard = guard
        self._ends_at = 0.0
        """End of the step's time limit on the monotonic clock. It moves by the time spent in queues."""
        self._reserve_s = 0.0
        """Seconds of the step that are kept for its observation and the end of a call."""
        self._page_state: tuple[Tab, int, PageState] | None = None

    def begin(self, tabs: Iterable[Tab] = (), limit_s: float = 0.0, settle_s: float = 0.0) -> None:
        """Forget the last step. `start` has no calls, and so no limit here.

        Args:
            limit_s: seconds that the next step may take.
            settle_s: the longest wait for a quiet page, after a call and before the observation.
        """
        self.timings = {}
        self.is_last_call = False
        self.requests_before = {tab: tab.requests for tab in tabs}
        self._ends_at = time.monotonic() + limit_s
        self._reserve_s = min(2 * settle_s + OBSERVATION_S, limit_s / 2)
        self._page_state = None

    @property
    def left_s(self) -> float:
        """Seconds until the step's time limit."""
        return max(0.0, self._ends_at - time.monotonic())

    @property
    def calls_left_s(self) -> float:
        """Seconds until no further call begins, so that the page can still be observed."""
        return max(0.0, self.left_s - self._reserve_s)

    @contextlib.asynccontextmanager
    async def operation(self, kind: str) -> AsyncIterator[None]:
        """Wait in the queue of this kind of operation, and measure the time of the operation."""
        async with self._queues.turn(kind, self._guard.deadline) as waited_s:
            if waited_s:  # the wait does not count towards the limit
                self.timings["queue"] = round(self.timings.get("queue", 0.0) + waited_s, 4)
                self._ends_at += waited_s
            began = time.monotonic()
            try:
                yield
            finally:
                self.timings[kind] = round(time.monotonic() - began, 4)

    def keep(self, tab: Tab, state: PageState) -> None:
        """Keep the page state that the last call read, so that the observation needs no second read."""
        self._page_state = (tab, tab.documents, state) if self.is_last_call else None

    def current(self, tab: Tab) -> PageState | None:
        """The kept state if it is the tab's and the tab has shown no other document since; else None."""
        if self._page_state is None or self._page_state[:2] != (tab, tab.documents) or tab.is_navigating:
            return None
        return self._page_state[2]
