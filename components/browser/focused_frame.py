"""The frame of a page that has the focus, and questions to `probe.js` in it, whatever the frame's origin."""

from __future__ import annotations

from playwright.async_api import Frame

from components.browser.devtools import PROBE_TIMEOUT_S
from components.browser.elements import script
from components.browser.errors import EnvError
from components.browser.tab import AnyAnswer, Tab


async def focused_frame(tab: Tab) -> Frame:
    """The innermost frame that has the focus; the main frame if no frame has it.

    Raises:
        EnvError: a frame did not answer in time.
    """
    frame = tab.page.main_frame
    try:
        async with tab.limits.limit(PROBE_TIMEOUT_S):
            while inner := await _focused_child(frame):
                frame = inner
    except TimeoutError as error:
        raise EnvError(f"a frame of the page did not answer within {PROBE_TIMEOUT_S:.0f} s") from error
    return frame


async def ask_frame(tab: Tab, frame: Frame, answer: type[AnyAnswer], **request: object) -> AnyAnswer:
    """`Tab.ask`, in the document of a frame.

    Raises:
        EnvError: the frame did not answer in time.
    """
    if frame is tab.page.main_frame:
        return await tab.ask(answer, **request)
    try:
        async with tab.limits.limit(PROBE_TIMEOUT_S):
            return answer.model_validate(await frame.evaluate(script(request)))
    except TimeoutError as error:
        raise EnvError(f"a frame of the page did not answer within {PROBE_TIMEOUT_S:.0f} s") from error


async def _focused_child(frame: Frame) -> Frame | None:
    """The child frame that has the focus."""
    for child in frame.child_frames:
        element = await child.frame_element()
        if await element.evaluate("el => el === el.getRootNode().activeElement"):
            return child
    return None
