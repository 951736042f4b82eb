"""What DevTools knows of a document and no script can ask for: closed shadow roots, and who listens.

The probe counts the elements to ask about in its answers. After each round of questions it may read the page
differently, and may then find more to ask about.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from playwright.async_api import Error as PlaywrightError

from components.browser.closed_roots import Adopted, adopt_closed_roots
from components.browser.errors import EnvError, SandboxError
from components.browser.listeners import Heard, find_listeners
from components.browser.playwright_errors import ClosedError, NavigatedError
from components.browser.probe_objects import Send

MAX_ROUNDS = 4
"""Times that a page is read again, because a root has hosts inside, or because there are more elements to ask about."""


HEARING_S = 0.5
"""Time in which one observation asks who listens. A page that keeps its thread busy answers slowly, and a list without
these lines is better than a late one."""


@dataclass(frozen=True)
class Discovered:
    """What one round found."""

    roots: int
    """Number of closed roots that the probe knows now."""
    is_more: bool
    """Whether the page reads differently now, or there may be more to find."""


async def discover(send: Send, context: int, suspects: int, unheard: int = 0, until: float = 0.0) -> Discovered:
    """Ask about the elements that a document's probe has collected.

    Args:
        context: the probe's JavaScript context.
        suspects: number of elements that may hold a closed root, as the probe's answer says.
        unheard: number of elements that may listen.
        until: the time of `time.monotonic` until which it is asked who listens.
    """
    adopted = await adopt_closed_roots(send, context) if suspects else Adopted()
    heard = await _hear(send, context, until - time.monotonic()) if unheard else Heard()
    return Discovered(adopted.roots, adopted.is_more or heard.is_more)


async def _hear(send: Send, context: int, limit_s: float) -> Heard:
    """What `find_listeners` finds in time; nothing if the page fails to answer."""
    if limit_s <= 0:
        return Heard()
    try:
        async with asyncio.timeout(limit_s):
            return await find_listeners(send, context)
    except (NavigatedError, ClosedError, SandboxError):
        raise
    except (TimeoutError, EnvError, PlaywrightError):
        return Heard()
