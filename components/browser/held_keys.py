"""Modifiers that are held during a click."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from playwright.async_api import Error as PlaywrightError

from components.browser.tab import Tab

RELEASE_S = 2.0
"""For a page to take the release of one key; a frame that computes without end does not."""


@contextlib.asynccontextmanager
async def held(tab: Tab, modifiers: Sequence[str]) -> AsyncIterator[None]:
    """Hold modifiers, in Playwright's names, during a click."""
    keyboard = tab.page.keyboard
    for name in modifiers:
        await keyboard.down(name)
    try:
        yield
    finally:
        for name in modifiers:
            with contextlib.suppress(PlaywrightError, TimeoutError):  # the click may have closed the page
                async with tab.limits.limit(RELEASE_S):
                    await keyboard.up(name)
