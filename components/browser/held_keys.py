"""Modifiers that are held during a click."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Keyboard


@contextlib.asynccontextmanager
async def held(keyboard: Keyboard, modifiers: Sequence[str]) -> AsyncIterator[None]:
    """Hold modifiers, in Playwright's names, during a click."""
    for name in modifiers:
        await keyboard.down(name)
    try:
        yield
    finally:
        for name in modifiers:
            with contextlib.suppress(PlaywrightError):  # the click may have closed the page
                await keyboard.up(name)
