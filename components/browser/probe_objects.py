"""Objects of a document's probe, such as elements, as DevTools knows them."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

Send = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Sends a DevTools command."""


_NUMBERS = itertools.count()


@asynccontextmanager
async def object_group(send: Send) -> AsyncIterator[str]:
    """A name for the objects of one round of questions, which DevTools lets go at the end. Frames of one session ask at
    the same time, so each round has a name of its own."""
    name = f"waymark-{next(_NUMBERS)}"
    yield name
    await send("Runtime.releaseObjectGroup", {"objectGroup": name})


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
