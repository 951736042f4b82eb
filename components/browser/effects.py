"""What a call does to the active tab: it compares the state before the call with the state once the page is quiet."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Response
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from components.browser import feedback, tools
from components.browser.errors import EnvError
from components.browser.feedback import Effect, Element
from components.browser.page_state import Mark, PageState, Turned
from components.browser.tab import Tab
from components.browser.tabs import EpisodeTabs, PageSession

DOWNLOAD_NOTICE_S = 1.0
"""How long the report of a download is awaited after the navigation that became one has failed."""
_DOWNLOAD = "Download is starting"
"""What Playwright says of a navigation that became a download."""
AnyResponse = TypeVar("AnyResponse", bound=Response | None)


class ActingSession(PageSession, Protocol):
    """The part of a session that actions use."""

    answer: str | None

    @property
    def calls_left_s(self) -> float:
        """Seconds until no further call of the step begins."""
        ...

    async def look(self, tab: Tab, before: Mark, since: int, hovered: bool) -> PageState:
        """The state of a tab once its page is quiet."""
        ...

    @property
    def names_options(self) -> bool:
        """Whether feedback names the options of a `<select>` (`Site.names_options`)."""
        ...

    def absolute(self, url: str) -> str:
        """An address as a browser would complete it."""
        ...


class ObservedCall:
    """Observes one call: enter it before the call acts; on exit it waits until the page is quiet and sets `effect`.

    Args:
        pixels: the point at which the call acts, in CSS pixels of the viewport.
        hovered: whether the call only moves the cursor.
        may_open: whether the call may open a window of which the page knows nothing, as a middle click does.
    """

    def __init__(
        self,
        session: ActingSession,
        pixels: tuple[float, float] | None = None,
        hovered: bool = False,
        may_open: bool = False,
    ) -> None:
        self.tab = session.tabs.active
        self.pixels = pixels
        self.target: Element | None = None
        """The element at `pixels` before the call."""
        self.effect = Effect()
        self.state = ""
        """Of a clicked element: checked, unchecked, or that a field got the focus."""
        self.url = ""
        """The page's address after the call."""
        self.wheel: Turned | None = None
        """What the wheel did; None if it was not turned, or turned on a document that was replaced."""
        self._session = session
        self._hovered = hovered
        self._may_open = may_open

    async def __aenter__(self) -> ObservedCall:
        before = await self.tab.mark(self.pixels, live=self._session.params.quiet_ms > 0)
        self.target = before.target.element if before.target else None
        self._url, self._before = before.url, before
        self._documents, self._requests = self.tab.documents, self.tab.requests
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None:
            return
        try:
            after = await self._session.look(self.tab, self._before, self._requests, self._hovered)
        except EnvError as look_error:
            if not await self._session.tabs.lost(self.tab, look_error):
                raise
            self.effect = await closed_tab(self._session, self.tab)
            return
        moved = after.url != self._url or self.tab.documents != self._documents
        refusal = [feedback.not_sent(after.refusal.element, after.refusal.message)] if after.refusal else []
        tabs = self._session.tabs
        changes = await tabs.update(may_open=self._may_open)
        self.effect = Effect(
            navigated_to=after.url if moved else None,
            new_tab=changes.shown,
            new_tab_url=tabs.active.page.url if changes.shown is not None else "",
            now_active=_name(tabs) if changes.closed_active else "",
            changed=after.changed,
            unwatched=after.unwatched,
            loading=after.loading,
            notices=(*self.tab.notices.take(), *refusal, *changes.notices),
        )
        self.url, self.wheel = after.url, after.wheel
        self.state = after.toggled or (feedback.FOCUSED if after.field else "")

    @property
    def navigation(self) -> str:
        """What a call has done that leads to another page, whether or not its address is another one."""
        landed = f"Page navigated to {self.url}." if self.url else ""
        others = str(replace(self.effect, navigated_to=None, changed=False, loading=0, notices=()))
        return " ".join(note for note in (landed, *self.effect.notices, others) if note)


async def closed_tab(session: ActingSession, tab: Tab) -> Effect:
    """The effect of a call during which its tab was closed, by its own page or by another one."""
    changes = await session.tabs.update()
    return Effect(now_active=_name(session.tabs), notices=(*tab.notices.take(), *changes.notices))


def _name(tabs: EpisodeTabs) -> str:
    return f"{tabs.index} ({tabs.active.page.url})"


def to_viewport(session: ActingSession, x: float, y: float) -> tuple[tuple[int, int], tuple[float, float], bool]:
    """A point of the 0-1000 scale, clamped to it.

    Returns:
        the point rounded, the point in CSS pixels of the viewport, and whether it was outside of the scale.
    """
    width, height = session.tabs.active.viewport
    inside = (min(max(x, 0), tools.SCALE), min(max(y, 0), tools.SCALE))
    pixels = (min(inside[0] / tools.SCALE * width, width - 1), min(inside[1] / tools.SCALE * height, height - 1))
    return (round(inside[0]), round(inside[1])), pixels, inside != (x, y)


def _operation_limit_s(session: ActingSession) -> float:
    """Seconds that one operation of a call may take: half of the step's limit, and no longer than the step has time for
    calls."""
    return min(session.params.step_timeout_s / 2, max(1.0, session.calls_left_s))


@contextlib.asynccontextmanager
async def input_limit(session: ActingSession) -> AsyncIterator[None]:
    """Limits mouse and keyboard input, which ends once the page or the frame at its place has taken it. The time in
    which a dialog of the page is open does not count.

    Raises:
        playwright.async_api.Error: the input was not taken in time. A frame of another site may hang while the page
            answers, so the episode goes on; if the page itself hangs, reading it raises `EnvError`.
    """
    limit_s = _operation_limit_s(session)
    try:
        async with session.tabs.active.limits.limit(limit_s):
            yield
    except TimeoutError as error:
        raise PlaywrightError(f"the page or a frame in it did not take the input within {limit_s:.0f} s") from error


class UnansweredError(Exception):
    """The server of a navigation did not answer in time; the navigation was stopped."""


async def navigate(session: ActingSession, navigation: Callable[..., Awaitable[AnyResponse]]) -> AnyResponse:
    """Run a navigation of the active tab (`goto`, `go_back`, `go_forward`) until its document is read.

    It may take half of the step's limit, and no longer than the step has time for calls. The time in which a dialog of
    the page is open does not count.

    Args:
        navigation: takes Playwright's arguments `wait_until` and `timeout`.

    Raises:
        UnansweredError: the server did not answer in time.
        playwright.async_api.Error: the navigation failed, or its document was not read in time.
    """
    tab = session.tabs.active
    limit_s = _operation_limit_s(session)
    try:
        async with tab.limits.limit(limit_s):
            return await navigation(wait_until="domcontentloaded", timeout=0)
    except TimeoutError as error:
        url = await tab.stop_navigation()
        if url is None:
            raise PlaywrightTimeoutError(f"the page was not loaded within {limit_s:.0f} s") from error
        raise UnansweredError(f"{url} did not answer within {limit_s:.0f} s") from error
    except PlaywrightError as error:
        if _DOWNLOAD in error.message:
            await _noted_download(tab)
        raise


async def _noted_download(tab: Tab) -> None:
    """Wait until the tab has noted the download that a navigation became: its event follows the failure."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DOWNLOAD_NOTICE_S):
            while not tab.notices.has_download:
                await asyncio.sleep(0.01)
