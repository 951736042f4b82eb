"""Objects of a document's probe, such as elements, as DevTools knows them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

Send = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Sends a DevTools command."""


async def objects_of(send: Send, context: int, expression: str) -> list[str]:
    """DevTools' ids of the objects in an array.

    Args:
        context: the probe's JavaScript context.
        expression: the array in it.
    """
    array = await send("Runtime.evaluate", {"expression": expression, "contextId": context})
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
