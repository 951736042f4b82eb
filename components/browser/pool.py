"""Browsers for many episodes at once: one Chromium, `concurrency` slots, a browser context per episode.

Measured: a fresh context with its page and first navigation costs 600 ms of CPU time, a navigation in an existing
context 50 ms. So on the pool's own site a slot keeps its context, and the session clears cookies, storage and history
between episodes. On other pages every episode gets a fresh context, made while earlier episodes run.

A context in which an operation failed is never used again. After a browser's death, the next episode that needs one
starts a new browser; the episodes that ran on the dead one raise `SandboxError`. A browser that has served
`EPISODES_PER_BROWSER` episodes gets no new ones and is stopped when its last episode ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from playwright.async_api import Browser, BrowserContext, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from components.browser import axtree_element, axtree_view
from components.browser.chromium import find_chromium, find_headed_chromium, launch, launch_flags, missing
from components.browser.context_options import context_options
from components.browser.deadline import deadline
from components.browser.egress import EgressGuard
from components.browser.errors import ChromiumNotFoundError, EnvError, SandboxError
from components.browser.pool_context import PoolContext
from components.browser.queues import OperationQueues
from components.browser.session import Session
from components.browser.site import Site, awaits_requests
from components.browser.tab import Tab
from components.browser.uploads import Uploads
from components.browser.window import Window
from components.params import BrowserParams, EgressParams, TextKind
from components.records import Task

LAUNCH_TIMEOUT_S = 60.0
CLOSE_TIMEOUT_S = 10.0
OPEN_TIMEOUT_S = 10.0
"""For a context and its page; half a second is added per slot, because all slots may open one at the same time."""
EPISODES_PER_COLLECTION = 10
"""A renderer keeps the documents of earlier episodes until its garbage is collected, which it does rarely by itself."""
EPISODES_PER_CONTEXT = 200
EPISODES_PER_BROWSER = 500
"""Playwright's driver keeps about 30 KB of each episode and its client 10 KB; Chromium grows, too."""


@dataclass
class _RunningBrowser:
    """A browser with its Playwright driver."""

    playwright: Playwright
    browser: Browser
    launched: float
    """Monotonic time of the launch."""
    users: int = 0
    """Number of episodes that run on it."""
    episodes: int = 0
    """Number of episodes that have begun on it."""
    spares: list[tuple[BrowserContext, Tab]] = field(default_factory=list)
    """Contexts made ahead."""
    is_current: bool = True
    """Whether new episodes begin on it."""


@dataclass
class _Slot:
    """A place for one episode, with the context that it keeps for the next one."""

    running: _RunningBrowser | None = None
    context: BrowserContext | None = None
    tab: Tab | None = None
    episodes: int = 0


def _egress_params(egress: EgressParams, site: Site | None) -> EgressParams:
    """The egress guard's parameters. Episodes on the pool's own site may reach no other host."""
    return egress if site is None else egress.model_copy(update={"allowed_hosts": [], "private_hosts": []})


class BrowserPool:
    """An async context manager; `session()` waits for a free slot. All traffic goes through the egress guard.

    Args:
        site: the pool's own site, on which all episodes run; None for other pages.
        text: the textual part of observations.
        headed: show the browser's windows, which needs a display and a whole Chromium.
    """

    def __init__(
        self, params: BrowserParams, site: Site | None = None, text: TextKind = "none", headed: bool = False
    ) -> None:
        self.params = params
        self._headed = headed
        self._site = site
        self._guard = EgressGuard(_egress_params(params.egress, site)) if params.egress.guard else None
        header = self._guard.refusal_header if self._guard else None
        uploads = Uploads(params.uploads) if params.uploads is not None else None
        self._pool_context = PoolContext(
            params, site, text, OperationQueues(params.queues), self.health, self._missing_browser, header, uploads
        )
        self._context_options = context_options((site.context if site else None) or params.context, params.viewport)
        self._program: Path | None = None
        self._has_failed = False
        self._current: _RunningBrowser | None = None
        self._retired: list[_RunningBrowser] = []
        self._launch_lock = asyncio.Lock()
        self._slots: asyncio.Queue[_Slot] = asyncio.Queue()
        self._spare_task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> BrowserPool:
        try:
            if self._site is not None:
                await self._site.start()
            await self._current_browser()
        except BaseException:
            await self.__aexit__()
            raise
        for _ in range(self.params.concurrency):
            self._slots.put_nowait(_Slot())
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._spare_task is not None:
            self._spare_task.cancel()
        for running in [*self._retired, *([self._current] if self._current else [])]:
            await self._stop(running)
        if self._guard is not None:
            await self._guard.stop()
        if self._site is not None:
            await self._site.stop()

    @contextlib.asynccontextmanager
    async def session(self, task: Task | None = None) -> AsyncIterator[Session]:
        """Wait for a free slot and give a session on it.

        Args:
            task: ignored; `SitePools` chooses a pool by it.

        Raises:
            SandboxError: no browser or no context could be started.
        """
        slot = await self._slots.get()
        try:
            running, context, tab = await self._acquire_context(slot)
            try:
                session = Session(context, tab, self._pool_context)
                try:
                    yield session
                finally:
                    await self._release_context(slot, session)
            finally:
                await self._release_browser(running)
        finally:
            self._slots.put_nowait(slot)

    async def replace_egress_rules(self, egress: EgressParams) -> None:
        """Use other rules for the traffic from now on. It has no effect without an egress guard.

        Raises:
            SandboxError: the guard did not answer.
        """
        if self._guard is not None:
            await self._guard.replace_rules(_egress_params(egress, self._site))

    def health(self) -> dict[str, float]:
        """The browser's state, to explain a failure: seconds since its start, memory of its processes in MiB, and free
        memory of this machine in MiB."""
        resident = 0
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                resident += process.memory_info().rss
        return {
            "browser_uptime_s": round(time.monotonic() - self._current.launched, 1) if self._current else 0.0,
            "browser_memory_mib": round(resident / 2**20),
            "free_memory_mib": round(psutil.virtual_memory().available / 2**20),
        }

    # ---- contexts ---------------------------------------------------------------------------------------------------

    async def _acquire_context(self, slot: _Slot) -> tuple[_RunningBrowser, BrowserContext, Tab]:
        """A context for an episode. Its browser counts the episode among its users until `_release_browser`."""
        last: Exception | None = None
        for _ in range(3):  # the browser may die between the check and the call
            running = await self._current_browser()
            running.users += 1
            try:
                context, tab = await self._slot_context(running, slot)
                running.episodes += 1
                return running, context, tab
            except (PlaywrightError, TimeoutError, EnvError) as error:
                last = error
                await self._release_browser(running)
            except BaseException:
                await self._release_browser(running)
                raise
        raise SandboxError(f"no browser context could be opened: {last}") from last

    async def _slot_context(self, running: _RunningBrowser, slot: _Slot) -> tuple[BrowserContext, Tab]:
        """The slot's context if it can serve another episode, else one made ahead, else a new one."""
        if slot.context is not None and slot.tab is not None and slot.running is running:
            if not slot.tab.page.is_closed():
                return slot.context, slot.tab
            await _close(slot.context)
        while running.spares and running.spares[-1][1].crashed:
            await _close(running.spares.pop()[0])
        pair = running.spares.pop() if running.spares else await self._open_context(running)
        if self._site is None and self._spare_task is None:
            self._spare_task = asyncio.create_task(self._make_spares(running))
        slot.running, slot.context, slot.tab, slot.episodes = running, *pair, 0
        return pair

    async def _open_context(self, running: _RunningBrowser) -> tuple[BrowserContext, Tab]:
        context = None
        try:
            async with deadline(OPEN_TIMEOUT_S + 0.5 * self.params.concurrency, running.browser) as limit:
                context = await running.browser.new_context(**self._context_options)
                context.set_default_timeout(self.params.step_timeout_s * 1000)
                page = await context.new_page()
                page.on("crash", limit.expire)
                tab = await Tab.attach(Window(page), watches_network=awaits_requests(self._site))
                page.remove_listener("crash", limit.expire)
                return context, tab
        except BaseException:
            if context is not None:
                await _close(context)
            raise

    async def _make_spares(self, running: _RunningBrowser) -> None:
        """Make contexts for the next episodes while the present ones run."""
        try:
            while running.is_current and len(running.spares) < max(1, self.params.concurrency // 4):
                running.spares.append(await self._open_context(running))
        except (PlaywrightError, TimeoutError, EnvError):
            pass  # the next episode makes its own context and reports the error
        finally:
            self._spare_task = None

    async def _release_context(self, slot: _Slot, session: Session) -> None:
        slot.episodes += 1
        is_kept = False
        try:
            is_settled = await _succeeds(session.settle_dialogs())
            await _succeeds(session.end_episode())
            self._has_failed |= session.broken
            if self._site is not None and is_settled and not session.broken and slot.episodes < EPISODES_PER_CONTEXT:
                is_kept = await _succeeds(self._prepare_next(slot, session))
        finally:
            if not is_kept:
                context, slot.context, slot.tab = slot.context, None, None
                if context is not None:
                    await _close(context)

    async def _prepare_next(self, slot: _Slot, session: Session) -> None:
        """Make the slot's context ready for its next episode."""
        slot.tab = await session.detach()
        if session.tabs.index != 0:
            await slot.tab.page.bring_to_front()
        if slot.episodes % EPISODES_PER_COLLECTION == 0:
            await slot.tab.command("HeapProfiler.collectGarbage")

    # ---- browsers ---------------------------------------------------------------------------------------------------

    async def _current_browser(self) -> _RunningBrowser:
        """The browser for new episodes, started if none is running.

        Raises:
            ChromiumNotFoundError: its program is missing or cannot be run; the message names the fix.
            SandboxError: Chromium could not be started.
        """
        async with self._launch_lock:
            running = self._current
            if self._has_failed and (problem := self._missing_browser()):
                raise ChromiumNotFoundError(problem)
            self._has_failed = False
            guarded = self._guard is None or self._guard.pid is not None
            if running is not None and running.browser.is_connected() and guarded:
                if running.episodes < EPISODES_PER_BROWSER:
                    return running
                self._current, running.is_current = None, False
                self._retired.append(running)
                await self._stop_if_retired_and_unused(running)
            elif running is not None:
                await self._stop(running)
            last: Exception | None = None
            for _ in range(2):
                try:
                    async with asyncio.timeout(LAUNCH_TIMEOUT_S):
                        self._current = await self._launch()
                        return self._current
                except (PlaywrightError, TimeoutError) as error:
                    last = error
            reason = str(last).splitlines()[0] if str(last) else f"it took longer than {LAUNCH_TIMEOUT_S:.0f} s"
            raise SandboxError(f"Chromium could not be started: {reason} ({self._program})") from last

    def _missing_browser(self) -> str | None:
        return missing(self._program) if self._program is not None else None

    async def _launch(self) -> _RunningBrowser:
        if self._guard is not None and self._guard.pid is None:
            await self._guard.start()
        playwright = await async_playwright().start()
        try:
            await axtree_view.register(playwright)
            await axtree_element.register(playwright)
            finder = find_headed_chromium if self._headed else find_chromium
            self._program = finder(playwright.chromium.executable_path)
            flags = launch_flags(
                self._site.addresses() if self._site is not None else None,
                self._guard.port if self._guard is not None else None,
            )
            shows_bars = self.params.scroll_bars
            browser = await launch(playwright, self._program, flags, not self._headed, shows_bars)
        except BaseException:
            await _stop_driver(playwright)
            raise
        return _RunningBrowser(playwright, browser, time.monotonic())

    async def _release_browser(self, running: _RunningBrowser) -> None:
        running.users -= 1
        await self._stop_if_retired_and_unused(running)

    async def _stop_if_retired_and_unused(self, running: _RunningBrowser) -> None:
        if running in self._retired and not running.users:
            await self._stop(running)

    async def _stop(self, running: _RunningBrowser) -> None:
        running.is_current = False
        if running in self._retired:
            self._retired.remove(running)
        if self._current is running:
            self._current = None
        await _close(running.browser)
        await _stop_driver(running.playwright)  # also kills what is left of its browser


async def _succeeds(operation: Coroutine[Any, Any, None]) -> bool:
    """Whether an operation ends in time and without an error. The episode has ended and must not be lost, whatever is
    wrong with its context."""
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await operation
    except Exception:
        return False
    return True


async def _close(resource: Browser | BrowserContext) -> None:
    with contextlib.suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await resource.close()


async def _stop_driver(playwright: Playwright) -> None:
    with contextlib.suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await playwright.stop()
