"""What DevTools knows of a document and no script can ask for: closed shadow roots, and who listens.

The probe counts the elements to ask about in its answers. After each round of questions it may read the page
differently, and may then find more to ask about.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.browser.closed_roots import Adopted, adopt_closed_roots
from components.browser.listeners import Heard, find_listeners
from components.browser.probe_objects import Send

MAX_ROUNDS = 4
"""Times that a page is read again, because a root has hosts inside, or because there are more elements to ask about."""


@dataclass(frozen=True)
class Discovered:
    """What one round found."""

    roots: int
    """Number of closed roots that the probe knows now."""
    is_more: bool
    """Whether the page reads differently now, or there may be more to find."""


async def discover(send: Send, context: int, suspects: int, unheard: int = 0) -> Discovered:
    """Ask about the elements that a document's probe has collected.

    Args:
        context: the probe's JavaScript context.
        suspects: number of elements that may hold a closed root, as the probe's answer says.
        unheard: number of elements that may listen.
    """
    adopted = await adopt_closed_roots(send, context) if suspects else Adopted()
    heard = await find_listeners(send, context) if unheard else Heard()
    return Discovered(adopted.roots, adopted.is_more or heard.is_more)
