"""Browsers for many episodes at once: one Chromium, `concurrency` slots, a context per episode.

Measured: a fresh context with its page and first navigation costs 600 ms of CPU, a navigation in one that is there
50 ms. So on a site of ours a slot keeps its context and the session clears cookies, storage and history between
episodes; on other pages every episode gets a fresh context.
A context in which something went wrong is never used again. A browser that died is started again by the next episode
that needs it; the episodes that were on it raise `SandboxError`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass

from playwright.async_api import Browser, BrowserContext, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from components.browser.chromium import find_chromium, launch_flags
from components.browser.egress import EgressGuard
from components.browser.errors import EnvError, SandboxError
from components.browser.session import Session
from components.browser.site import Site
from components.browser.tab import Tab
from components.params import BrowserParams, EgressParams, TextKind

LAUNCH_TIMEOUT_S = 60.0
CLOSE_TIMEOUT_S = 10.0
EPISODES_PER_CONTEXT = 200  # a renderer that lives for ever grows


@dataclass
class _Slot:
    context: BrowserContext | None = None
    tab: Tab | None = None
    episodes: int = 0


def _rules(egress: EgressParams, site: Site | None) -> EgressParams:
    """Episodes on a site of ours have no business elsewhere."""
    return egress if site is None else egress.model_copy(update={"allowed_hosts": []})


class BrowserPool:
    """An async context manager; `session()` waits for a free slot. All traffic goes through the egress guard."""

    def __init__(self, params: BrowserParams, site: Site | None = None, text: TextKind = "none") -> None:
        self.params = params
        self._site = site
        self._text = text
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._guard = EgressGuard(_rules(params.egress, site)) if params.egress.guard else None
        self._launching = asyncio.Lock()
        self._slots: asyncio.Queue[_Slot] = asyncio.Queue()

    async def __aenter__(self) -> BrowserPool:
        try:
            if self._site is not None:
                await self._site.start()
            await self._connected()
        except BaseException:
            await self.__aexit__()
            raise
        for _ in range(self.params.concurrency):
            self._slots.put_nowait(_Slot())
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stop_browser()
        if self._guard is not None:
            await self._guard.stop()
        if self._site is not None:
            await self._site.stop()

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """A session on a free slot.

        Raises:
            SandboxError: no browser could be started.
        """
        slot = await self._slots.get()
        try:
            context, tab = await self._context(slot)
            session = Session(context, tab, self.params, self._site, self._text)
            try:
                yield session
            finally:
                await self._give_back(slot, session)
        finally:
            self._slots.put_nowait(slot)

    async def _context(self, slot: _Slot) -> tuple[BrowserContext, Tab]:
        """The slot's context if it is fit for another episode, else a new one."""
        browser = await self._connected()
        if slot.context is not None and slot.tab is not None and slot.context.browser is browser:
            return slot.context, slot.tab
        width, height = self.params.viewport
        last: Exception | None = None
        for _ in range(2):  # the browser may die between the check and the call
            try:
                async with asyncio.timeout(self.params.start_timeout_s):
                    browser = await self._connected()
                    context = await browser.new_context(
                        viewport={"width": width, "height": height},
                        device_scale_factor=1,
                        locale="en-US",
                        service_workers="block",
                        accept_downloads=False,
                    )
                    context.set_default_timeout(self.params.step_timeout_s * 1000)
                    tab = await Tab.of(await context.new_page(), watches_network=self._site is None)
                    slot.context, slot.tab, slot.episodes = context, tab, 0
                    return context, tab
            except (PlaywrightError, TimeoutError, EnvError) as error:
                last = error
        raise SandboxError(f"no browser context could be opened: {last}") from last

    async def _give_back(self, slot: _Slot, session: Session) -> None:
        slot.episodes += 1
        keep = self._site is not None and not session.broken and slot.episodes < EPISODES_PER_CONTEXT
        if keep:
            try:
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    slot.tab = await session.detach()
                    if session.active != 0:
                        await slot.tab.page.bring_to_front()
                    return
            except (PlaywrightError, TimeoutError, EnvError):
                pass
        context, slot.context, slot.tab = slot.context, None, None
        if context is not None:
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await context.close()

    async def _connected(self) -> Browser:
        """The browser, started or started again."""
        async with self._launching:
            guarded = self._guard is None or self._guard.pid is not None
            if self._browser is not None and self._browser.is_connected() and guarded:
                return self._browser
            last: Exception | None = None
            for _ in range(2):
                try:
                    async with asyncio.timeout(LAUNCH_TIMEOUT_S):
                        return await self._launch()
                except (PlaywrightError, TimeoutError) as error:
                    last = error
                    await self._stop_browser()
            raise SandboxError(f"Chromium could not be started: {last}") from last

    async def _launch(self) -> Browser:
        if self._guard is not None and self._guard.pid is None:
            await self._stop_browser()  # it points at a proxy that is gone
            await self._guard.start()
        if self._playwright is None:
            self._playwright = await async_playwright().start()
        path = find_chromium(self._playwright.chromium.executable_path)
        self._browser = await self._playwright.chromium.launch(
            executable_path=path,
            args=launch_flags(
                self._site.address() if self._site is not None else None,
                self._guard.port if self._guard is not None else None,
            ),
            chromium_sandbox=os.geteuid() != 0,
            handle_sigint=False,  # an interrupt is the stage's to handle; closing the pool ends the browser
        )
        return self._browser

    async def _stop_browser(self) -> None:
        browser, self._browser = self._browser, None
        if browser is not None:
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await browser.close()
        playwright, self._playwright = self._playwright, None
        if playwright is not None:  # stopping the driver kills whatever is left of its browsers
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await playwright.stop()
