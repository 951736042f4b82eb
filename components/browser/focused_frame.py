"""The document that has the focus, in whatever frame, and questions to `probe.js` in it, whatever the frame's origin.

The probe runs in our isolated world of the frame, as in the main frame: a script of the page may have replaced the
built-ins of its own world. React, for one, ignores a value that was set through its `value` property.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from playwright.async_api import Error as PlaywrightError

from components.browser.devtools import PROBE_TIMEOUT_S
from components.browser.foreign_frames import MAX_DEPTH, FrameWorld
from components.browser.page_state import AnyAnswer, Focus, Focused
from components.browser.playwright_errors import ClosedError, translate
from components.browser.tab import Tab

FRAMES = ("iframe", "frame", "object", "embed")
"""The elements that show a document of their own."""


async def focused_element(tab: Tab, operation: str) -> tuple[FrameWorld | None, Focus | None]:
    """Run an operation of the probe (`focus`, `clear` or `hold`) in the innermost frame that has the focus.

    Returns:
        our world in that frame, which is None for the main frame, and the focused element.

    Raises:
        EnvError: the page's own document did not answer in time.
        playwright.async_api.Error: a frame left the page, or did not answer in time.
    """
    world = None
    focus = (await tab.ask(Focused, op=operation)).focus
    for _ in range(MAX_DEPTH + 1):
        if focus is None or focus.tag not in FRAMES:
            break
        world = await _answered(tab, tab.world_in(world, "waymark.focusedFrame()"))
        focus = (await ask_frame(tab, world, Focused, op=operation)).focus
    return world, focus


async def ask_frame(tab: Tab, world: FrameWorld | None, answer: type[AnyAnswer], **request: object) -> AnyAnswer:
    """`Tab.ask`, in a world of `focused_element`.

    Raises:
        EnvError: the page's own document did not answer in time.
        playwright.async_api.Error: the frame left the page, or did not answer in time.
    """
    if world is None:
        return await tab.ask(answer, **request)
    reply = await _answered(tab, world.ask(request))
    if reply is None:
        raise PlaywrightError("the frame with the focus could not be read")
    tab.clipboard.keep(reply.pop("copied", None))
    return answer.model_validate(reply)


async def _answered(tab: Tab, question: Awaitable[Any]) -> Any:
    """What a frame answers. One that leaves meanwhile closes its session, and one in a renderer of its own may compute
    without end; the page lives on."""
    try:
        async with tab.limits.limit(PROBE_TIMEOUT_S):
            return await question
    except TimeoutError as error:
        raise PlaywrightError(f"the frame with the focus did not answer within {PROBE_TIMEOUT_S:.0f} s") from error
    except PlaywrightError as error:
        if isinstance(translate(error), ClosedError) and not tab.page.is_closed():
            raise PlaywrightError("the frame with the focus has left the page") from error
        raise
