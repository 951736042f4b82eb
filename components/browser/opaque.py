"""What the probe of a page's main document cannot watch: frames of other origins, canvases, and closed shadow roots.

Frames are watched by a probe of their own in an isolated world. A canvas is compared by its pixels. Closed shadow roots
are watched once the probe knows them (`closed_roots`); while some are not known, their content is unknown. It costs
nothing on pages that have none of them in view.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from components.browser.elements import question, script
from components.browser.frame_sessions import FrameSessions
from components.browser.page_state import Area, Mark, PageState

TIMEOUT_S = 2.0
"""For one look at all frames, or at all canvases, besides the wait for a quiet page."""
MAX_FRAMES = 8
MAX_CANVASES = 3
FRAME, CANVAS, CLOSED = "a frame of another site", "a canvas", "a closed component"
_IS_READ_BY_TOP = """(() => { try {
  for (let view = window; view !== top; view = view.parent) if (!view.frameElement) return false;
  return true;
} catch { return false; } })()"""


@dataclass
class _FrameWorld:
    """Our isolated world in a frame."""

    cdp: CDPSession
    context: int
    is_read_by_top: bool
    """Whether the probe of the main document watches it already."""
    has_probe: bool = False

    async def ask(self, request: dict, keep: Callable[[object], None]) -> Any:
        """The probe's answer, for the caller to parse.

        Args:
            keep: called with what the document copied since the last answer.
        """
        expression = question(request) if self.has_probe else script(request, keep=True)
        answer = await self.evaluate(expression)
        self.has_probe = True
        if isinstance(answer, dict):
            keep(answer.pop("copied", None))
        return answer

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression."""
        arguments = {"expression": expression, "returnByValue": True, "awaitPromise": True, "contextId": self.context}
        answer = await self.cdp.send("Runtime.evaluate", arguments)
        if "exceptionDetails" in answer:
            raise PlaywrightError(f"the frame threw: {answer['exceptionDetails']['text']}")
        return answer["result"].get("value")


class OpaqueParts:
    """Watches them in one tab, between `mark` and `look`.

    Args:
        cdp: the page's DevTools session.
        sessions: those of its frames in renderers of their own.
        keep: takes what documents copied, for the episode's clipboard (`Clipboard.keep`).
    """

    def __init__(self, cdp: CDPSession, sessions: FrameSessions, keep: Callable[[object], None]) -> None:
        self._cdp = cdp
        self._sessions = sessions
        self._keep = keep
        self._worlds: dict[str, _FrameWorld] = {}
        """By the loader of the frame's document."""
        self._marks: list[tuple[_FrameWorld, Mark]] = []
        self._pictures: list[tuple[Area, str]] = []

    async def mark(self, mark: Mark) -> None:
        """Remember the state before a call."""
        self._marks, self._pictures = [], []
        if mark.opaque_frames:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TIMEOUT_S):
                    for world in await self._frame_worlds():
                        with contextlib.suppress(PlaywrightError):
                            answer = await world.ask({"op": "mark", "at": None, "live": True}, self._keep)
                            self._marks.append((world, Mark.model_validate(answer)))
        if mark.canvases:
            with contextlib.suppress(TimeoutError, PlaywrightError):
                async with asyncio.timeout(TIMEOUT_S):
                    self._pictures = [(area, await self._picture(area)) for area in mark.canvases[:MAX_CANVASES]]

    async def look(self, before: Mark, state: PageState, request: dict) -> PageState:
        """The page's state with what happened in these parts, once the frames are quiet.

        Args:
            state: of the main document.
            request: the request for that state, with the milliseconds that are left (`settle`).
        """
        unwatched: list[str] = []
        is_changed = state.changed
        if before.opaque_frames:
            frames = await self._look_at_frames(request)
            in_frames = any(frame is None or frame.changed for frame in frames)
            state = with_focus(state, [frame for frame in frames if frame is not None])
            is_changed |= in_frames
            is_known = before.opaque_frames <= min(len(frames), MAX_FRAMES)
            if state.wheel is not None and state.wheel.opaque:
                wheel = state.wheel.model_copy(update={"moved": state.wheel.moved or in_frames, "opaque": not is_known})
                state = state.model_copy(update={"wheel": wheel})
            if not is_known:
                unwatched.append(FRAME)
        if not is_changed and before.canvases:
            changed = await self._look_at_canvases(before.canvases)
            is_changed |= changed is True
            if changed is None:
                unwatched.append(CANVAS)
        if not is_changed and before.suspects:
            unwatched.append(CLOSED)
        return state.model_copy(update={"changed": is_changed, "unwatched": tuple(unwatched)})

    # ---- frames -----------------------------------------------------------------------------------------------------

    async def _look_at_frames(self, request: dict) -> list[PageState | None]:
        """The states of the watched frames; None for one that shows another document, or is gone."""
        states: list[PageState | None] = []
        limit_s = TIMEOUT_S + request["settle"] / 1000

        async def look(world: _FrameWorld, before: Mark) -> None:
            request_here = {**request, "changes": before.changes, "effects": before.effects, "elements": False}
            try:
                states.append(PageState.model_validate(await world.ask(request_here, self._keep)))
            except PlaywrightError:
                states.append(None)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await asyncio.gather(*(look(world, before) for world, before in self._marks))
        return states

    async def _frame_worlds(self) -> list[_FrameWorld]:
        """Our worlds in the frames that the main document's probe cannot read."""
        tree = (await self._cdp.send("Page.getFrameTree"))["frameTree"]
        parts = [(self._cdp, child) for child in _below(tree)]
        for cdp in await self._sessions.all():
            with contextlib.suppress(PlaywrightError):
                parts.append((cdp, (await cdp.send("Page.getFrameTree"))["frameTree"]["frame"]))
        worlds = {}
        for cdp, part in parts:
            with contextlib.suppress(PlaywrightError):
                worlds[part["loaderId"]] = self._worlds.get(part["loaderId"]) or await _enter(cdp, part["id"])
        self._worlds = worlds
        return [world for world in worlds.values() if not world.is_read_by_top][:MAX_FRAMES]

    # ---- canvases ---------------------------------------------------------------------------

    async def _look_at_canvases(self, canvases: list[Area]) -> bool | None:
        """Whether a canvas changed; None if that is not known, because it was not compared or moves by itself."""
        if len(self._pictures) < len(canvases):
            return None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                for area, picture in self._pictures:
                    now = await self._picture(area)
                    if now != picture:
                        return True if await self._picture(area) == now else None
        except (TimeoutError, PlaywrightError):
            return None
        return False

    async def _picture(self, area: Area) -> str:
        arguments = {"format": "png", "optimizeForSpeed": True, "clip": {**area.model_dump(), "scale": 1}}
        return (await self._cdp.send("Page.captureScreenshot", arguments))["data"]


def with_focus(state: PageState, frames: list[PageState]) -> PageState:
    """The page's state with what its frames tell of the clicked element, and of the focus if one of them has it."""
    focused = [frame for frame in frames if frame.has_focus]
    return state.model_copy(
        update={
            "toggled": state.toggled or next((frame.toggled for frame in frames if frame.toggled), ""),
            "field": state.field or any(frame.field for frame in focused),
            "refusal": state.refusal or next((frame.refusal for frame in focused if frame.refusal), None),
        }
    )


def _below(tree: dict) -> Iterator[dict]:
    """The frames below the root of a frame tree, as DevTools describes them."""
    for child in tree.get("childFrames", []):
        yield child["frame"]
        yield from _below(child)


async def _enter(cdp: CDPSession, frame_id: str) -> _FrameWorld:
    """Make our isolated world in a frame."""
    answer = await cdp.send("Page.createIsolatedWorld", {"frameId": frame_id, "worldName": "waymark"})
    world = _FrameWorld(cdp, answer["executionContextId"], is_read_by_top=False)
    world.is_read_by_top = await world.evaluate(_IS_READ_BY_TOP) is True
    return world
