"""Controls that only a listener makes: DevTools knows the listeners of an element, and the probe lists it from then on.

A page notices nothing. The list collects the elements without a role that are drawn like a control (`listeners.js`), so
that pages without such elements cost nothing, and asks about each at most three times. A listener on an ancestor that
handles the clicks of all elements inside, as in React, does not count: it does not say which of them can be clicked.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from playwright.async_api import Error as PlaywrightError

from components.browser.errors import EnvError, SandboxError
from components.browser.playwright_errors import NavigatedError
from components.browser.probe_objects import Send, hand_over, object_group, objects_of

MAX_ASKED = 32
"""Elements that one round asks about, as in `listeners.js`."""
PRESSES = frozenset({"click", "dblclick", "mousedown", "mouseup", "pointerdown", "pointerup", "touchstart", "touchend"})
"""The events that make an element a control."""


@dataclass(frozen=True)
class Heard:
    """What one round did."""

    controls: int = 0
    """Number of elements that are found to be controls."""
    questions: int = 0
    """Number of elements that were asked about."""

    @property
    def is_more(self) -> bool:
        """Whether a list made now may have other lines."""
        return self.controls > 0 or self.questions == MAX_ASKED


async def find_listeners(send: Send, context: int) -> Heard:
    """Tell a document's probe which of the elements that it collected listen to presses.

    Args:
        context: the probe's JavaScript context.
    """
    async with object_group(send) as group:
        ids = await objects_of(send, context, "waymark.toHear()", group)
        answers = await asyncio.gather(*(_is_pressable(send, node, group) for node in ids))
        controls = [node for node, is_control in zip(ids, answers, strict=True) if is_control]
        await hand_over(send, context, "heard", controls)
    return Heard(len(controls), len(ids))


async def _is_pressable(send: Send, element: str, group: str) -> bool:
    """Whether a script of the page listens to presses of an element; false if that has left the page.

    DevTools answers for the object of the element in the page's own world: for that in ours, it tells only our
    listeners.
    """
    try:
        node = (await send("DOM.describeNode", {"objectId": element}))["node"]["backendNodeId"]
        theirs = (await send("DOM.resolveNode", {"backendNodeId": node, "objectGroup": group}))["object"]
        answer = await send("DOMDebugger.getEventListeners", {"objectId": theirs["objectId"]})
    except (SandboxError, NavigatedError):
        raise
    except (EnvError, PlaywrightError):
        return False
    return any(listener["type"] in PRESSES for listener in answer["listeners"])
