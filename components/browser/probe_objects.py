"""Objects of a document's probe, such as elements, as DevTools knows them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Error as PlaywrightError

from components.browser.errors import EnvError

Send = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Sends a DevTools command."""


_NUMBERS = itertools.count()
_RELEASES: set[asyncio.Task[None]] = set()
"""Those that nothing waits for."""


@asynccontextmanager
async def object_group(send: Send) -> AsyncIterator[str]:
    """A name for the objects of one round of questions, which DevTools lets go at the end. Frames of one session ask at
    the same time, so each round has a name of its own."""
    name = f"waymark-{next(_NUMBERS)}"
    try:
        yield name
    except BaseException:  # the page may be busy: nothing waits for it
        release = asyncio.create_task(_release(send, name))
        _RELEASES.add(release)
        release.add_done_callback(_RELEASES.discard)
        raise
    await _release(send, name)


async def _release(send: Send, group: str) -> None:
    """Let objects go, unless the page is gone with them."""
    with contextlib.suppress(EnvError, PlaywrightError):
        await send("Runtime.releaseObjectGroup", {"objectGroup": group})


async def objects_of(send: Send, context: int, expression: str, group: str) -> list[str]:
    """DevTools' ids of the objects in an array.

    Args:
        context: the probe's JavaScript context.
        expression: the array in it.
        group: of the objects.
    """
    array = await send("Runtime.evaluate", {"expression": expression, "contextId": context, "objectGroup": group})
    listing = {"objectId": array["result"]["objectId"], "ownProperties": True}
    items = (await send("Runtime.getProperties", listing))["result"]
    return [item["value"]["objectId"] for item in items if item["name"].isdigit()]


async def hand_over(send: Send, context: int, function: str, objects: Sequence[str]) -> None:
    """Call a function of the probe with objects, unless there are none."""
    if not objects:
        return
    arguments = {
        "functionDeclaration": f"function (...given) {{ waymark.{function}(...given); }}",
        "executionContextId": context,
        "arguments": [{"objectId": item} for item in objects],
    }
    await send("Runtime.callFunctionOn", arguments)
