"""Hears a person in all tabs of an episode and writes down what they do.

Clicks, texts and keys come from the pages (`browser.person_input`). Typed addresses, going back, reloading, tabs and
dialogs come from the browser: a navigation that the page did not request itself is the person's.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from playwright.async_api import CDPSession, Dialog, Page
from playwright.async_api import Error as PlaywrightError

from components.browser import Session
from components.browser.person_input import PersonEvent, hear_person
from components.worlds.own_site.recording.transcription import Transcription

REACTION_S = 1.0
"""What happens so soon after an event in a page is the page's reaction to it."""
LAG_S = 0.5
"""How long the history of a tab, which the browser keeps, may lag behind what its page tells."""
SWAP_S = 10.0
"""How long the browser may take to give a tab another renderer. Until then it refuses to tell the history."""
HEARING_INTERVAL_S = 0.5
"""How often a tab is asked which of its elements are controls only because they listen."""
TYPED = frozenset({"typed", "address_bar", "keyword", "keyword_generated", "auto_bookmark", "generated"})
"""How DevTools names the causes of a new address that the person gave."""


@dataclass(frozen=True)
class _History:
    """The entries of a tab: the number of the shown one, the ids of all, and the address and cause of the shown one."""

    index: int = 0
    ids: tuple[int, ...] = ()
    url: str = ""
    cause: str = ""


@dataclass
class _Heard:
    """A tab, with its history as it was after the last navigation."""

    page: Page
    cdp: CDPSession
    opener: Page | None = None
    hear_controls: Callable[[], Awaitable[None]] | None = None
    """From `hear_person`; None until the tab is heard."""
    history: _History = field(default_factory=lambda: _History())
    is_requested: bool = False
    """Whether the page has requested the navigation that goes on."""


class PersonRecorder:
    """An async context manager around an episode in which a person acts in place of an agent.

    Args:
        session: of the episode, after its start.
        origin: scheme and host of the site's pages.
    """

    def __init__(self, session: Session, origin: str, transcription: Transcription) -> None:
        self.closed = asyncio.Event()
        """Set when the person has closed the last tab."""
        self._session = session
        self._origin = origin
        self._transcription = transcription
        self._tabs: list[_Heard] = []
        self._active: _Heard | None = None
        self._last_event = 0.0
        self._queue: asyncio.Queue[tuple[Page, Callable[[], Awaitable[None]]]] = asyncio.Queue()
        """What has happened in which tab, in its order. Reading the history of a tab takes a moment."""
        self._worker: asyncio.Task[None] | None = None
        self._hearing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> PersonRecorder:
        first = self._session.page
        self._session.tabs.holds = lambda dialog, window: True  # the person answers
        await self._attach(first, None)
        self._active = self._tabs[0]
        first.context.on("page", self._on_page)
        self._worker = asyncio.create_task(self._work())
        self._hearing = asyncio.create_task(self._hear_controls())
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.settle()
        for task in (self._worker, self._hearing):
            if task is not None:
                task.cancel()
        self._session.tabs.holds = None
        for tab in self._tabs:
            with contextlib.suppress(PlaywrightError):
                await tab.cdp.detach()

    async def _hear_controls(self) -> None:
        while True:
            for tab in list(self._tabs):
                if tab.hear_controls is not None:
                    with contextlib.suppress(PlaywrightError):  # it is busy or gone
                        await tab.hear_controls()
            await asyncio.sleep(HEARING_INTERVAL_S)

    async def settle(self) -> None:
        """Wait until everything that has happened is written down."""
        await self._queue.join()

    async def _work(self) -> None:
        while True:
            page, job = await self._queue.get()
            try:
                await job()
            except Exception as error:  # a step is lost, which the person must be told; the others are not
                if not (isinstance(error, PlaywrightError) and page.is_closed()):
                    self._transcription.note_lost(error)
            finally:
                self._queue.task_done()

    # ---- tabs -------------------------------------------------------------------------------------------------------

    def _on_page(self, page: Page) -> None:
        since = time.monotonic() - self._last_event
        self._queue.put_nowait((page, lambda: self._opened(page, since)))

    async def _opened(self, page: Page, since: float) -> None:
        opener = await page.opener()
        await self._attach(page, opener)
        if opener is None and since > REACTION_S:
            self._transcription.add("new_tab")
            self._active = self._tabs[-1]
            self._tabs[-1].history = _History()  # the person may have typed an address already
            await self._navigated(self._tabs[-1], False, since)
        elif self._active is not None and opener is self._active.page:
            self._active = self._tabs[-1]  # as for an agent, a window is shown that the page opened

    async def _attach(self, page: Page, opener: Page | None) -> None:
        cdp = await page.context.new_cdp_session(page)
        tab = _Heard(page, cdp, opener)
        self._tabs.append(tab)
        page.on("dialog", _leave)
        page.on("close", lambda _: self._on_close(tab))
        tab.hear_controls = await hear_person(cdp, lambda event: self._on_event(tab, event))
        tab.history = await _history(cdp)
        cdp.on("Page.frameRequestedNavigation", lambda _: setattr(tab, "is_requested", True))
        cdp.on("Page.frameNavigated", lambda event: self._on_navigated(tab, event))
        cdp.on("Page.navigatedWithinDocument", lambda _: self._on_navigated(tab, {"frame": {}}))
        opened: dict[str, str] = {}
        cdp.on("Page.javascriptDialogOpening", lambda event: opened.update(event))
        cdp.on("Page.javascriptDialogClosed", lambda event: self._on_dialog(tab, dict(opened), event))

    def _on_close(self, tab: _Heard) -> None:
        since = time.monotonic() - self._last_event
        self._queue.put_nowait((tab.page, lambda: self._closed(tab, since)))
        if all(other.page.is_closed() for other in self._tabs):
            self.closed.set()

    async def _closed(self, tab: _Heard, since: float) -> None:
        is_persons = since > REACTION_S  # else the page closed it, and the browser shows the tab that opened it
        if is_persons:
            self._show(tab)
        index = self._tabs.index(tab)
        self._tabs.remove(tab)
        left = self._tabs[max(0, index - 1)] if self._tabs else None
        if is_persons:
            self._transcription.add("close_tab")
        else:
            left = next((other for other in self._tabs if other.page is tab.opener), left)
        if self._active is tab:
            self._active = left

    def _show(self, tab: _Heard) -> None:
        """The person acts in a tab: it is shown."""
        if self._active is not tab and tab in self._tabs:
            self._transcription.add("switch_tab", self._tabs.index(tab))
            self._active = tab

    # ---- events -----------------------------------------------------------------------------------------------------

    def _on_event(self, tab: _Heard, event: PersonEvent) -> None:
        self._last_event = time.monotonic()

        async def write() -> None:
            self._show(tab)
            self._transcription.hear(event)

        self._queue.put_nowait((tab.page, write))

    def _on_dialog(self, tab: _Heard, opened: dict[str, str], closed: dict) -> None:
        async def write() -> None:
            self._transcription.note_dialog(
                opened.get("type", ""),
                opened.get("message", ""),
                closed["result"],
                closed.get("userInput", ""),
                opened.get("defaultPrompt", ""),
            )

        self._last_event = time.monotonic()
        self._queue.put_nowait((tab.page, write))

    def _on_navigated(self, tab: _Heard, event: dict) -> None:
        if event["frame"].get("parentId"):
            return
        is_reaction, tab.is_requested = tab.is_requested, False
        since = time.monotonic() - self._last_event
        self._queue.put_nowait((tab.page, lambda: self._navigated(tab, is_reaction, since)))

    async def _navigated(self, tab: _Heard, is_reaction: bool, since: float) -> None:
        before, now = tab.history, await _changed(tab)
        tab.history = now
        if is_reaction:
            return
        if now.ids[now.index] not in before.ids:
            if now.cause in TYPED:
                self._goto(tab, now.url)
        elif since > REACTION_S and now.index < before.index:
            self._show(tab)
            for _ in range(before.index - now.index):
                self._transcription.add("back")
        elif since > REACTION_S and (now.index > before.index or now.cause == "reload"):
            self._goto(tab, now.url)

    def _goto(self, tab: _Heard, url: str) -> None:
        if url.startswith(f"{self._origin}/"):
            self._show(tab)
            self._transcription.add("goto", url.removeprefix(self._origin))
        elif url.startswith(("http://", "https://")):
            self._transcription.note_elsewhere(url)


def _leave(dialog: Dialog) -> None:
    """Leave a dialog to the person: without a listener, Playwright would dismiss it."""


async def _history(cdp: CDPSession) -> _History:
    answer = await cdp.send("Page.getNavigationHistory")
    entries, index = answer["entries"], answer["currentIndex"]
    ids = tuple(entry["id"] for entry in entries)
    return _History(index, ids, entries[index]["url"], entries[index]["transitionType"])


async def _changed(tab: _Heard) -> _History:
    """The history after a navigation. One that changes nothing, such as a second reload, is waited for in vain."""
    begin = time.monotonic()
    while True:
        waited = time.monotonic() - begin
        try:
            if (now := await _history(tab.cdp)) != tab.history or waited > LAG_S:
                return now
        except PlaywrightError:  # "Not attached to an active page"
            if waited > SWAP_S or tab.page.is_closed():
                raise
        await asyncio.sleep(0.02)
