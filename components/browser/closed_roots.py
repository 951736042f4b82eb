"""Closed shadow roots: DevTools finds them, and `probe.js` reads them like open ones from then on.

A page notices nothing, and its scripts cannot change the answer. The probe collects the elements that may be hosts
(`closed_roots.js`), so that pages without such elements cost nothing, and each element is asked about once per
size.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from playwright.async_api import Error as PlaywrightError

from components.browser.errors import EnvError, SandboxError
from components.browser.playwright_errors import NavigatedError
from components.browser.probe_objects import Send, hand_over, object_group, objects_of

MAX_ROUNDS = 4
"""Times that a page is read again, because a root has hosts inside, or because there are more elements to ask about."""
MAX_ASKED = 32
"""Elements that one round asks about, as in `closed_roots.js`."""


@dataclass(frozen=True)
class Adopted:
    """The result of one round: how many closed roots it gave to the probe, and how many elements it asked about."""

    roots: int = 0
    """Number of closed roots that the probe knows now."""
    suspects: int = 0
    """Number of elements that were asked about."""

    @property
    def is_more(self) -> bool:
        """Whether there may be more roots."""
        return self.roots > 0 or self.suspects == MAX_ASKED


async def adopt_closed_roots(send: Send, context: int) -> Adopted:
    """Give a document's probe the closed roots of the elements that it suspects.

    Args:
        context: the probe's JavaScript context.
    """
    async with object_group(send) as group:
        ids = await objects_of(send, context, "waymark.asked()", group)
        answers = await asyncio.gather(*(_closed_root(send, context, node, group) for node in ids))
        roots = [root for root in answers if root]
        await hand_over(send, context, "adopt", roots)
    return Adopted(len(roots), len(ids))


async def _closed_root(send: Send, context: int, element: str, group: str) -> str | None:
    """The closed root of an element as an object of the context; None if it has none, or has left the page."""
    try:
        node = (await send("DOM.describeNode", {"objectId": element}))["node"]
        for root in node.get("shadowRoots", []):
            if root["shadowRootType"] == "closed":
                arguments = {
                    "backendNodeId": root["backendNodeId"],
                    "executionContextId": context,
                    "objectGroup": group,
                }
                return (await send("DOM.resolveNode", arguments))["object"]["objectId"]
    except (SandboxError, NavigatedError):
        raise
    except (EnvError, PlaywrightError):
        pass
    return None
