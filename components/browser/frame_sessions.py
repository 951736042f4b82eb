"""DevTools sessions of the frames of a page that have renderers of their own: one session for each such frame.

Chromium gives frames of another site a renderer of their own. The page's session neither reaches their documents nor
tells their events. Frames that share the renderer of the document around them also share its session.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from playwright.async_api import CDPSession, Frame, Page
from playwright.async_api import Error as PlaywrightError

from components.browser.clipboard import isolate_clipboard

ATTACH_TIMEOUT_S = 1.0
"""For one frame to answer its new session; a frame that computes without end does not."""


@dataclass
class _Attached:
    """What is known of a frame at an address."""

    url: str
    session: CDPSession | None = None
    """None if the frame shares the session of the frame around it."""
    frame_id: str | None = None
    """DevTools' id; None until it has answered."""


class FrameSessions:
    """The sessions of one page's frames. They are made when they are asked for.

    Args:
        listen: called once with each new session, which tells its windows and file choosers (`enable_events`).
    """

    def __init__(self, page: Page, listen: Callable[[CDPSession], None]) -> None:
        self._page = page
        self._listen = listen
        self._frames: dict[Frame, _Attached] = {}
        self._attaching = asyncio.Lock()
        """Frames are asked at the same time, and one round attaches to all."""

    async def all(self) -> list[CDPSession]:
        """The sessions of all such frames. Frames that do not answer are left out."""
        async with self._attaching:
            await self._attach()
        return [*self._ready().values()]

    async def of(self, frame_id: str) -> CDPSession:
        """The session of a frame with a renderer of its own, by DevTools' id.

        Raises:
            playwright.async_api.Error: the page has no such frame, or it does not answer.
        """
        if frame_id not in self._ready():  # a known frame does not wait for those that do not answer
            async with self._attaching:
                if frame_id not in self._ready():
                    self._frames = {frame: known for frame, known in self._frames.items() if known.session is not None}
                    await self._attach()
        session = self._ready().get(frame_id)
        if session is None:
            raise PlaywrightError("the frame is gone")
        return session

    def _ready(self) -> dict[str, CDPSession]:
        known = self._frames.values()
        return {frame.frame_id: frame.session for frame in known if frame.frame_id is not None and frame.session}

    async def _attach(self) -> None:
        """Make the sessions that are missing, and forget the frames that have left the page."""
        frames = self._page.frames[1:]
        self._frames = {frame: known for frame, known in self._frames.items() if frame in frames}
        await asyncio.gather(*(self._attach_to(frame) for frame in frames))

    async def _attach_to(self, frame: Frame) -> None:
        known = self._frames.get(frame)
        if known is None or (known.session is None and known.url != frame.url):
            known = _Attached(frame.url, await self._new_session(frame))
            self._frames[frame] = known
        if known.session is None or known.frame_id is not None:
            return
        with contextlib.suppress(PlaywrightError, TimeoutError):  # the frame is gone, or is asked again next time
            async with asyncio.timeout(ATTACH_TIMEOUT_S):
                tree = await known.session.send("Page.getFrameTree")
                await asyncio.gather(enable_events(known.session), isolate_clipboard(known.session))
                # Of two windows one has the focus of the desktop. Playwright emulates it, but not in such frames.
                await known.session.send("Emulation.setFocusEmulationEnabled", {"enabled": True})
                self._listen(known.session)
                known.frame_id = tree["frameTree"]["frame"]["id"]

    async def _new_session(self, frame: Frame) -> CDPSession | None:
        """A session of a frame; None if it shares that of the frame around it, or is gone."""
        try:
            session = await self._page.context.new_cdp_session(frame)
        except PlaywrightError:
            return None
        session.on("close", lambda _: self._forget(frame, session))
        return session

    def _forget(self, frame: Frame, session: CDPSession) -> None:
        known = self._frames.get(frame)
        if known is not None and known.session is session:
            del self._frames[frame]


async def enable_events(cdp: CDPSession) -> None:
    """Let a session tell the windows and the file choosers that its documents open.

    Raises:
        playwright.async_api.Error: its page or frame is gone.
    """
    await asyncio.gather(
        cdp.send("Page.enable"),
        cdp.send("Page.setInterceptFileChooserDialog", {"enabled": True}),
    )
