"""Controls that only a listener makes: DevTools knows the listeners of a document, and the probe lists their elements.

The list collects the elements without a role that are drawn like a control (`listeners.js`), so that pages without such
elements cost nothing. DevTools tells all listeners of a document in one answer, and is asked for each list, so a list
depends on the page alone. A listener on an ancestor that handles the clicks of all elements inside does not count: it
does not say which of them can be clicked. (React gives each of its elements that take clicks an empty one, which does.)
"""

from __future__ import annotations

import asyncio
import json

from playwright.async_api import Error as PlaywrightError

from components.browser.errors import EnvError, SandboxError
from components.browser.playwright_errors import ClosedError, NavigatedError
from components.browser.probe_objects import Send, object_group, objects_of

HEARING_S = 5.0
"""The longest that one list waits for DevTools; after that, the elements of the last answer have their lines."""
PRESSES = frozenset({"click", "dblclick", "mousedown", "mouseup", "pointerdown", "pointerup"})
"""The events that make an element a control."""


async def hear(send: Send, context: int, holder: str = "waymark") -> bool:
    """Tell a document's probe which of the elements that it collected listen to presses.

    Args:
        context: the probe's JavaScript context.
        holder: the object in it with the functions of `listeners.js`.

    Returns:
        whether a list made now may have other lines; False if the page fails to answer.
    """
    try:
        async with asyncio.timeout(HEARING_S), object_group(send) as group:
            elements = await objects_of(send, context, f"{holder}.unnumbered()", group)
            if elements:
                numbers = await asyncio.gather(*(_number(send, element) for element in elements))
                await _evaluate(send, context, f"{holder}.number({json.dumps(numbers)})")
            listeners = await _listeners(send, context, group)
            return await _evaluate(send, context, f"{holder}.hear({json.dumps(listeners)})")
    except (NavigatedError, ClosedError, SandboxError):
        raise
    except (TimeoutError, EnvError, PlaywrightError):
        return False


async def _number(send: Send, element: str) -> int | None:
    """DevTools' number of an element; None if it has left the page."""
    try:
        return (await send("DOM.describeNode", {"objectId": element}))["node"]["backendNodeId"]
    except (NavigatedError, ClosedError, SandboxError):
        raise
    except (EnvError, PlaywrightError):
        return None


async def _listeners(send: Send, context: int, group: str) -> list[int]:
    """The numbers of the document's elements that listen to presses, those in its shadow roots and frames included.

    DevTools answers for the object of the document in the page's own world: for that in ours, it tells only our
    listeners.
    """
    arguments = {"expression": "document", "contextId": context, "objectGroup": group}
    document = await _number(send, (await send("Runtime.evaluate", arguments))["result"]["objectId"])
    theirs = (await send("DOM.resolveNode", {"backendNodeId": document, "objectGroup": group}))["object"]
    question = {"objectId": theirs["objectId"], "depth": -1, "pierce": True}
    listeners = (await send("DOMDebugger.getEventListeners", question))["listeners"]
    return sorted(
        {entry["backendNodeId"] for entry in listeners if entry["type"] in PRESSES and "backendNodeId" in entry}
    )


async def _evaluate(send: Send, context: int, expression: str) -> bool:
    """Whether an expression is true."""
    arguments = {"expression": expression, "contextId": context, "returnByValue": True}
    return (await send("Runtime.evaluate", arguments))["result"].get("value") is True
