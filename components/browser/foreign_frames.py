"""The element list of frames whose documents the document around them cannot read: those of another origin.

Each frame answers in an isolated world of its own. Chromium runs frames of another site in a renderer of their own,
with a DevTools session; the others answer through the session of the page. The frame gets the part of its viewport that
can be seen, and the document around it drops the lines whose points something covers. A frame that does not answer in
time has no lines.

Site isolation stays on. Without it all frames would share one session, but also one renderer: a page of another site
could then stop or read more than its own tab.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from components.browser.closed_roots import MAX_ROUNDS, adopt_closed_roots
from components.browser.elements import question, script
from components.browser.frame_sessions import FrameSessions
from components.browser.listeners import hear
from components.browser.page_state import Box, FramePart, Listed, PageState

FRAME_TIMEOUT_S = 2.0
MAX_DEPTH = 4
"""Of frames in frames."""


@dataclass(frozen=True)
class FrameWorld:
    """An isolated world with `probe.js` in a document, and the session that reaches it."""

    cdp: CDPSession
    context: int

    async def ask(self, request: Mapping[str, object]) -> Any:
        """The answer of `probe.js`, for the caller to parse; None if it threw."""
        answer = await _evaluate(self, f"globalThis.waymark ? {question(dict(request))} : 0")
        if answer == 0:  # the document does not have the source yet
            answer = await _evaluate(self, script(dict(request), keep=True))
        return answer


class ForeignFrames:
    """The frames of another origin in a page.

    Args:
        sessions: those of the frames in renderers of their own.
    """

    def __init__(self, sessions: FrameSessions) -> None:
        self._sessions = sessions

    async def complete(self, state: PageState, world: FrameWorld, request: Mapping[str, object]) -> PageState:
        """A page's state with the lines of these frames in its element list.

        Args:
            world: ours in the page's document.
            request: the request for the state, with `instruction`, `details`, `owners` and `listeners`.
        """
        lines = {key: bool(request[key]) for key in ("details", "owners", "listeners")}
        parts = await self._parts(world, state.frames, lines)
        again = {
            "op": "elements",
            "instruction": request["instruction"],
            **lines,
            "parts": [part.model_dump() for part in parts],
        }
        try:
            async with asyncio.timeout(FRAME_TIMEOUT_S):
                answer = await _evaluate(world, question(again))
        except (TimeoutError, PlaywrightError):
            return state
        return state.model_copy(update={"elements": Listed.model_validate(answer).elements}) if answer else state

    async def _parts(
        self, around: FrameWorld, boxes: Sequence[Box], lines: Mapping[str, bool], depth: int = 0
    ) -> list[FramePart]:
        """What the frames show that the last list of a document met, of which `boxes` can be seen."""
        return await asyncio.gather(*(self._part(around, index, box, lines, depth) for index, box in enumerate(boxes)))

    async def _part(self, around: FrameWorld, index: int, box: Box, lines: Mapping[str, bool], depth: int) -> FramePart:
        request: dict[str, object] = {"op": "framePart", "clip": box, **lines, "parts": None}
        part = FramePart()
        try:
            async with asyncio.timeout(FRAME_TIMEOUT_S):
                world = await self.world_in(around, f"waymark.frame({index})")
                part = await self._answer(world, request)
                part = await self._with_discoveries(world, request, part)
                if not part.frames or depth == MAX_DEPTH:
                    return part
                inner = await self._parts(world, part.frames, lines, depth + 1)
                return await self._answer(world, {**request, "parts": [answer.model_dump() for answer in inner]})
        except (TimeoutError, PlaywrightError):
            return part  # what was read in time

    async def world_in(self, around: FrameWorld, frame: str) -> FrameWorld:
        """Our world in the document of a frame.

        Args:
            frame: expression for the frame's element in the world of the document around it.

        Raises:
            playwright.async_api.Error: there is no such frame, or it left the page.
        """
        arguments = {"expression": frame, "contextId": around.context}
        element = (await around.cdp.send("Runtime.evaluate", arguments))["result"].get("objectId")
        if element is None:
            raise PlaywrightError("the frame is gone")
        described = await around.cdp.send("DOM.describeNode", {"objectId": element})
        await around.cdp.send("Runtime.releaseObject", {"objectId": element})  # else a removed frame stays in memory
        frame_id = described["node"].get("frameId")
        if frame_id is None:
            raise PlaywrightError("the frame is gone")
        arguments = {"frameId": frame_id, "worldName": "waymark"}
        try:
            answer = await around.cdp.send("Page.createIsolatedWorld", arguments)
            return FrameWorld(around.cdp, answer["executionContextId"])
        except PlaywrightError:  # it is in a renderer of its own
            session = await self._sessions.of(frame_id)
            answer = await session.send("Page.createIsolatedWorld", arguments)
            return FrameWorld(session, answer["executionContextId"])

    async def _with_discoveries(self, world: FrameWorld, request: dict[str, object], part: FramePart) -> FramePart:
        """The part once the frame's probe knows the closed roots and listeners that DevTools tells."""
        for _ in range(MAX_ROUNDS):
            if not part.suspects or not (await adopt_closed_roots(world.cdp.send, world.context)).is_more:
                break
            part = await self._answer(world, request)
        if request["listeners"] and part.drawn and await hear(world.cdp.send, world.context):
            part = await self._answer(world, request)
        return part

    async def _answer(self, world: FrameWorld, request: dict[str, object]) -> FramePart:
        answer = await world.ask(request)
        return FramePart.model_validate(answer) if answer else FramePart()


async def _evaluate(world: FrameWorld, expression: str) -> Any:
    """The value of an expression; None if it threw."""
    arguments = {"expression": expression, "returnByValue": True, "awaitPromise": True, "contextId": world.context}
    answer = await world.cdp.send("Runtime.evaluate", arguments)
    return None if "exceptionDetails" in answer else answer["result"].get("value")
