"""What the probe of a page's main document cannot watch: frames of other origins, canvases, closed shadow roots, and
elements beyond those that it compares.

Frames in view are watched by a probe of their own in an isolated world, and so are the frames in them. A canvas is
compared by its pixels. Closed shadow roots are watched once the probe knows them (`closed_roots`). What is in view and
was not watched is unknown, and the state says so. It costs nothing on pages that have none of these parts in view.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from components.browser.closed_roots import MAX_ROUNDS, adopt_closed_roots
from components.browser.foreign_frames import ForeignFrames, FrameWorld
from components.browser.page_limits import PageLimits
from components.browser.page_state import Area, Mark, PageState

TIMEOUT_S = 2.0
"""For one look at all frames, or at all canvases, besides the wait for a quiet page."""
MAX_FRAMES = 8
MAX_CANVASES = 3
FRAME, CANVAS, CLOSED = "a frame of another site", "a canvas", "a closed component"
CROWDED = "an element beyond the first 10,000"


class OpaqueParts:
    """Watches them in one tab, between `mark` and `look`.

    Args:
        cdp: the page's DevTools session.
        frames: reach the documents of the frames.
        limits: the time limits of operations on the page.
        keep: takes what documents copied, for the episode's clipboard (`Clipboard.keep`).
    """

    def __init__(
        self, cdp: CDPSession, frames: ForeignFrames, limits: PageLimits, keep: Callable[[object], None]
    ) -> None:
        self._cdp = cdp
        self._frames = frames
        self._limits = limits
        self._keep = keep
        self._in_view = 0
        """Number of frames to watch, those in frames included."""
        self._marks: list[tuple[FrameWorld, Mark]] = []
        """Of the frames that are watched."""
        self._pictures: list[tuple[Area, str]] = []

    async def mark(self, mark: Mark, world: FrameWorld | None) -> None:
        """Remember the state before a call.

        Args:
            mark: of the main document.
            world: ours in it; None if it was replaced since.
        """
        self._in_view, self._marks, self._pictures = 0, [], []
        if mark.opaque_frames and world is not None:
            with contextlib.suppress(TimeoutError):
                async with self._limits.limit(TIMEOUT_S):
                    await self._mark_frames(world, mark.opaque_frames)
        if mark.canvases:
            with contextlib.suppress(TimeoutError, PlaywrightError):
                async with self._limits.limit(TIMEOUT_S):
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
            is_known = bool(self._in_view) and len(frames) == self._in_view
            if state.wheel is not None and state.wheel.opaque:
                wheel = state.wheel.model_copy(update={"moved": state.wheel.moved or in_frames, "opaque": not is_known})
                state = state.model_copy(update={"wheel": wheel})
            if not is_known:
                unwatched.append(FRAME)
        in_frames_before = [mark for _, mark in self._marks] if before.opaque_frames else []
        if not is_changed and before.canvases:
            changed = await self._look_at_canvases(before.canvases)
            is_changed |= changed is True
            if changed is None:
                unwatched.append(CANVAS)
        if not is_changed:
            unwatched += _unwatched_in(before, in_frames_before)
        return state.model_copy(update={"changed": is_changed, "unwatched": tuple(dict.fromkeys(unwatched))})

    # ---- frames -----------------------------------------------------------------------------------------------------

    async def _mark_frames(self, around: FrameWorld, number: int) -> None:
        await asyncio.gather(*(self._mark_frame(around, index) for index in range(number)))

    async def _mark_frame(self, around: FrameWorld, index: int) -> None:
        """Mark a frame of a document, by its place among those that the document's mark counted, and those in it."""
        self._in_view += 1
        if self._in_view > MAX_FRAMES:
            return
        with contextlib.suppress(PlaywrightError):
            world = await self._frames.world_in(around, f"waymark.opaqueFrame({index})")
            mark = await self._mark_of(world)
            self._marks.append((world, mark))
            await self._mark_frames(world, mark.opaque_frames)

    async def _mark_of(self, world: FrameWorld) -> Mark:
        """The mark of a frame's document once its probe knows the closed roots that DevTools tells."""
        request = {"op": "mark", "at": None, "live": True}
        mark = Mark.model_validate(await self._ask(world, request))
        for _ in range(MAX_ROUNDS):
            if not mark.suspects:
                break
            if not (await adopt_closed_roots(world.cdp.send, world.context)).is_more:
                return mark.model_copy(update={"suspects": 0})
            mark = Mark.model_validate(await self._ask(world, request))
        return mark

    async def _look_at_frames(self, request: dict) -> list[PageState | None]:
        """The states of the watched frames; None for one that shows another document, or is gone."""
        states: list[PageState | None] = []

        async def look(world: FrameWorld, before: Mark) -> None:
            request_here = {**request, "changes": before.changes, "effects": before.effects, "elements": False}
            try:
                states.append(PageState.model_validate(await self._ask(world, request_here)))
            except PlaywrightError:
                states.append(None)

        with contextlib.suppress(TimeoutError):
            async with self._limits.limit(TIMEOUT_S + request["settle"] / 1000):
                await asyncio.gather(*(look(world, before) for world, before in self._marks))
        return states

    async def _ask(self, world: FrameWorld, request: dict) -> dict[str, Any]:
        """The probe's answer. What the document copied since the last one goes to the episode's clipboard."""
        answer = await world.ask(request)
        if not isinstance(answer, dict):
            raise PlaywrightError("the frame threw")
        self._keep(answer.pop("copied", None))
        return answer

    # ---- canvases ---------------------------------------------------------------------------

    async def _look_at_canvases(self, canvases: list[Area]) -> bool | None:
        """Whether a canvas changed; None if that is not known, because it was not compared or moves by itself."""
        if len(self._pictures) < len(canvases):
            return None
        try:
            async with self._limits.limit(TIMEOUT_S):
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


def _unwatched_in(page: Mark, frames: list[Mark]) -> list[str]:
    """What is not compared in a page and in its frames, whose canvases are none of the page's own."""
    documents = [page, *frames]
    return [
        *([CANVAS] if any(frame.canvases for frame in frames) else []),
        *([CLOSED] if any(document.suspects for document in documents) else []),
        *([CROWDED] if any(document.crowded for document in documents) else []),
    ]
