"""The tabs of one episode: their order, which one is active, and the windows that pages open and close.

A page may open a window at any moment, and any tab may close at any moment: a login window closes itself or is closed
by its opener. `EpisodeTabs.update` brings the list up to date at the end of every call and before every observation.

Like a browser, the episode shows a window that a script or a link opened, and leaves one in the background that a
middle click opened. A window that opens while the start page loads stays in the background, because the task begins on
the start page.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from playwright.async_api import BrowserContext, Dialog, Page, Response
from playwright.async_api import Error as PlaywrightError

from components.browser.clipboard import Clipboard
from components.browser.errors import EnvError
from components.browser.listener_errors import ListenerErrors
from components.browser.playwright_errors import ClosedError, translate
from components.browser.tab import Tab
from components.browser.uploads import Uploads
from components.browser.window import Window
from components.params import BrowserParams

CLOSE_NOTICE_S = 0.5
"""An operation may fail before Playwright reports that its page was closed; this long the report is awaited."""
DEATH_NOTICE_S = 0.1
"""The browser's death closes all pages first; this long after a page was closed, the report of the death may follow."""
ATTACH_TIMEOUT_S = 5.0
UNANNOUNCED_TIMEOUT_S = 0.5
"""How long to wait for a window of a call that may open one without the page's knowledge, such as a middle click."""


@dataclass(frozen=True)
class TabChanges:
    """What happened to the tabs since the last update."""

    shown: int | None = None
    """Number of the new tab that became active."""
    closed_active: bool = False
    """Whether the active tab was closed, so that another one is active now."""
    notices: tuple[str, ...] = ()
    """Sentences about the other tabs that opened or closed."""


class EpisodeTabs:
    """The open tabs in the order in which the agent counts them, from 0.

    Args:
        context: the episode's browser context.
        first: the tab with which the episode starts.
        watches_network: whether new tabs count their requests (see `Tab.attach`).
        popup_timeout_ms: how long to wait for a window that a page asked to open, and then for its document.
        on_crash: called when the renderer of a tab dies.
        uploads: the files that pages may be given.
    """

    def __init__(
        self,
        context: BrowserContext,
        first: Tab,
        watches_network: bool,
        popup_timeout_ms: int,
        on_crash: Callable[[], None],
        uploads: Uploads | None = None,
    ) -> None:
        self.active = self._first = first
        """The active tab. It may have been closed since the last `update`."""
        self._context = context
        self._watches_network = watches_network
        self._popup_timeout_ms = popup_timeout_ms
        self._on_crash = on_crash
        self._uploads = uploads
        self.holds: Callable[[Dialog, Window], bool] | None = None
        """Keeps a dialog of a tab or a new window open for an answer, or says false; None if none is kept."""
        self._dismisses = False
        self._clipboard = Clipboard()
        self._tabs: list[Tab] = []
        self._listener_errors: list[ListenerErrors] = []  # of all tabs of the episode, closed ones too
        self._openers: dict[Tab, Tab] = {}
        self._windows: list[Window] = []
        """Those that pages opened and that are no tabs yet."""
        self._attached_to: dict[Window, Tab] = {}
        """The tabs of those whose documents are awaited. The wait may be cancelled and begin again."""
        self._updating = asyncio.Lock()
        """A dialog may keep one update waiting while another one begins."""
        self._page_event = asyncio.Event()
        self._announced = self._arrived = 0
        self._prepare(first.window)
        self._append(first)
        self._page_listener = first.listener_errors.guarded(self._on_page)
        self._dialog_listener = first.listener_errors.guarded(self._on_dialog)
        context.on("page", self._page_listener)
        context.on("dialog", self._dialog_listener)

    def __len__(self) -> int:
        return len(self._tabs)

    def __getitem__(self, index: int) -> Tab:
        return self._tabs[index]

    def __iter__(self) -> Iterator[Tab]:
        return iter(self._tabs)

    @property
    def index(self) -> int:
        """Number of the active tab."""
        return self._tabs.index(self.active)

    @property
    def crashed(self) -> bool:
        """Whether the renderer of any tab died."""
        return any(tab.crashed for tab in self._tabs)

    def dismiss_dialogs(self) -> None:
        """From now on, dialogs of the tabs that are not held for an answer are dismissed."""
        self._dismisses = True
        for window in [*self._windows, *[tab.window for tab in self._tabs]]:
            window.notices.dismisses = True

    def is_shown(self, window: Window) -> bool:
        """Whether a window is the active tab, or becomes it because the active tab has just opened it."""
        return window is self.active.window or (window in self._windows and window.opener is self.active.page)

    async def open(self, shows: bool = True) -> int:
        """Open a blank tab and return its number.

        Args:
            shows: whether it becomes the active tab.
        """
        page = await self._context.new_page()
        window = next(window for window in self._windows if window.page is page)
        self._windows.remove(window)
        self._arrived -= 1
        self._append(await Tab.attach(window, self._watches_network))
        if shows:
            await self.activate(len(self) - 1)
        return len(self) - 1

    async def activate(self, index: int) -> None:
        """Bring a tab to the front."""
        self.active = self._tabs[index]
        with contextlib.suppress(PlaywrightError):  # a tab that was closed meanwhile is noticed by `update`
            await self.active.page.bring_to_front()

    async def close_active(self) -> None:
        """Close the active tab. Its left neighbour becomes active."""
        if not self.active.page.is_closed():
            await self.active.page.close()
        index = self.index
        self._tabs.pop(index)
        if not self._tabs:
            await self.open()
        await self.activate(max(0, index - 1))

    async def update(self, shows_windows: bool = True, may_open: bool = False) -> TabChanges:
        """Add the windows that pages have opened, and drop the tabs that were closed.

        Waits for windows that a page has asked to open. If the active tab was closed, the tab that opened it becomes
        active, or else its left neighbour, or else a blank tab.

        Args:
            shows_windows: whether a window that the active tab opened becomes active.
            may_open: wait a moment for a window of which the page knows nothing.
        """
        async with self._updating:
            return await self._update(shows_windows, may_open)

    async def lost(self, tab: Tab, error: Exception) -> bool:
        """Whether an error was raised because a tab was closed, while its browser and its renderer live."""
        reason = translate(error) if isinstance(error, PlaywrightError) else error
        if not isinstance(reason, ClosedError) and not tab.page.is_closed():
            return False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_NOTICE_S):
                while not tab.page.is_closed():
                    await asyncio.sleep(0.01)
        await asyncio.sleep(DEATH_NOTICE_S)
        browser = self._context.browser
        is_alive = browser is None or browser.is_connected()
        return is_alive and tab.page.is_closed() and not self.crashed

    def raise_listener_error(self) -> None:
        """Raise what a listener to the events of these tabs raised, though its tab was closed meanwhile.

        Raises:
            Exception: the first such error.
        """
        for errors in self._listener_errors:
            errors.raise_first()

    async def detach(self) -> Tab:
        """End the episode: close every tab but the first, which the next episode may use.

        Raises:
            EnvError: the first tab is closed. A window that a page opened may have another size.
        """
        self.holds = None
        self._context.remove_listener("page", self._page_listener)
        self._context.remove_listener("dialog", self._dialog_listener)
        for page in [*[window.page for window in self._windows], *[tab.page for tab in self._tabs[1:]]]:
            await page.close()
        if self._tabs[0] is not self._first or self._first.page.is_closed():
            raise EnvError("the first tab was closed")
        return self._tabs[0]

    # ---- private ----------------------------------------------------------------------------------------------------

    async def _update(self, shows_windows: bool, may_open: bool) -> TabChanges:
        await self._await_windows(may_open)
        opened, notices = [], []
        while self._windows:
            window = self._windows[0]
            if tab := await self._attached(window):
                opened.append(tab)
            else:
                notices.append("A window that the page opened was closed again.")
            self._windows.remove(window)
            self._attached_to.pop(window, None)
            notices += window.notices.take()
        shown = next((tab for tab in reversed(opened) if self._openers.get(tab) is self.active), None)
        closed = [(index, tab) for index, tab in enumerate(self._tabs) if tab.page.is_closed()]
        if not shows_windows or (shown is not None and shown.page.is_closed()):
            shown = None
        closed_active = shown is None and self.active.page.is_closed()
        notices += [
            f"Tab {index} ({tab.page.url}) was closed."
            for index, tab in closed
            if not (closed_active and tab is self.active)
        ]
        await self._drop([tab for _, tab in closed], shown or (self._successor() if closed_active else self.active))
        notices += [
            f"New tab {self._tabs.index(tab)} opened ({tab.page.url}) in the background."
            for tab in opened
            if tab is not shown and tab in self._tabs
        ]
        return TabChanges(self.index if shown else None, closed_active, tuple(notices))

    async def _await_windows(self, may_open: bool) -> None:
        """Wait until the windows that pages announced have arrived, or for a moment if one may come unannounced."""
        limit_s = self._popup_timeout_ms / 1000
        if may_open and not self._windows:
            await self._next_window(min(limit_s, UNANNOUNCED_TIMEOUT_S))
        while self._arrived < self._announced:
            if not await self._next_window(limit_s):
                break  # another program opens it, or its server has not answered yet
        self._announced = self._arrived = 0

    async def _next_window(self, limit_s: float) -> bool:
        self._page_event.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._page_event.wait()
        return self._page_event.is_set()

    async def _attached(self, window: Window) -> Tab | None:
        """The tab of a window, appended to the list; None if the window was closed meanwhile or does not answer."""
        page = window.page
        try:
            opener = await page.opener()
            async with window.limits.limit(ATTACH_TIMEOUT_S):
                tab = self._attached_to.get(window) or await Tab.attach(window, self._watches_network)
        except (PlaywrightError, TimeoutError):
            if self._context.browser is not None and not self._context.browser.is_connected():
                raise
            if not page.is_closed():
                await page.close()
            return None
        self._attached_to[window] = tab
        for other in self._tabs:
            if other.page is opener:
                self._openers[tab] = other
        if not self._is_download(tab):
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with window.limits.limit(self._popup_timeout_ms / 1000):
                    await page.wait_for_load_state("domcontentloaded", timeout=0)
        if self._is_download(tab):
            del self._openers[tab]
            await page.close()
            return None
        self._append(tab)
        return tab

    def _is_download(self, tab: Tab) -> bool:
        """Whether a new tab shows nothing because its address was a download. A person's browser closes such a tab."""
        opener = self._openers.get(tab)
        return not tab.page.url and opener is not None and opener.notices.has_download

    def _successor(self) -> Tab | None:
        """The tab that is shown when the active one was closed: its opener, or else the nearest one to its left."""
        opener = self._openers.get(self.active)
        left = reversed(self._tabs[: self.index])
        candidates = [*([opener] if opener in self._tabs else []), *left, *self._tabs[self.index :]]
        return next((tab for tab in candidates if tab is not None and not tab.page.is_closed()), None)

    async def _drop(self, closed: list[Tab], then: Tab | None) -> None:
        """Remove closed tabs and show another one; None stands for a blank one."""
        self._tabs = [tab for tab in self._tabs if tab not in closed]
        if then is None:
            await self.open()
        elif then is not self.active:
            await self.activate(self._tabs.index(then))

    def _append(self, tab: Tab) -> None:
        tab.on_crash = self._on_crash
        tab.clipboard = self._clipboard
        tab.on_window = self._on_window
        self._tabs.append(tab)

    def _prepare(self, window: Window) -> None:
        """Handle what a window opens as the episode does."""
        window.notices.uploads = self._uploads
        window.notices.dismisses = self._dismisses
        window.notices.hold = lambda dialog: self.holds is not None and self.holds(dialog, window)
        self._listener_errors.append(window.listener_errors)

    def _on_window(self) -> None:
        """A page announces a window, which arrives as soon as its server answers."""
        self._announced += 1

    async def _on_dialog(self, dialog: Dialog) -> None:
        """A dialog of a window that is not reported yet, which blocks the page that opened it."""
        if dialog.page is None:
            await self.active.window.on_dialog(dialog)

    def _on_page(self, page: Page) -> None:
        window = Window(page)
        self._prepare(window)
        self._windows.append(window)
        self._arrived += 1
        self._page_event.set()


class PageSession(Protocol):
    """The part of a session that opens pages."""

    params: BrowserParams
    tabs: EpisodeTabs

    def refusal(self, response: Response) -> str | None:
        """Why the egress guard answered in place of the server; None if it did not."""
