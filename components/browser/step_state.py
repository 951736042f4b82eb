"""What a session keeps while one step runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from components.browser.page_state import PageState
from components.browser.tab import Tab


@dataclass
class StepState:
    """The state of one `start` or `step`."""

    timings: dict[str, float] = field(default_factory=dict)
    """Seconds per kind of operation; see `Environment.timings`."""
    is_last_call: bool = False
    """Whether the turn's last call runs, or all have run: what is read from the page now is what the agent sees."""
    requests_before: Mapping[Tab, int] = field(default_factory=dict)
    """Number of requests of each tab when the step began."""
    ends_at: float = 0.0
    """End of the step's time limit on the monotonic clock. It moves by the time spent in queues."""
    _page_state: tuple[Tab, int, PageState] | None = None

    @classmethod
    def begin(cls, tabs: Iterable[Tab], limit_s: float) -> StepState:
        """The state at the begin of a step that may take `limit_s` seconds."""
        return cls(requests_before={tab: tab.requests for tab in tabs}, ends_at=time.monotonic() + limit_s)

    @property
    def left_s(self) -> float:
        """Seconds until the step's time limit."""
        return max(0.0, self.ends_at - time.monotonic())

    def queued(self, seconds: float) -> None:
        """Note time spent in a queue, which does not count towards the limit."""
        self.timings["queue"] = round(self.timings.get("queue", 0.0) + seconds, 4)
        self.ends_at += seconds

    def keep(self, tab: Tab, state: PageState) -> None:
        """Keep the page state that the last call read, so that the observation needs no second read."""
        self._page_state = (tab, tab.documents, state) if self.is_last_call else None

    def current(self, tab: Tab) -> PageState | None:
        """The kept state if it is the tab's and the tab has shown no other document since; else None."""
        if self._page_state is None or self._page_state[:2] != (tab, tab.documents) or tab.is_navigating:
            return None
        return self._page_state[2]
