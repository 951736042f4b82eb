"""Records the active tab of an episode as an animated WebP, which every browser plays.

The frames come from DevTools (`Page.startScreencast`), because Playwright's own video needs an ffmpeg that only its
downloads contain. The browser sends a frame when the page has changed, at most `1 / INTERVAL_S` per second.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from PIL import Image, TiffImagePlugin
from playwright.async_api import Error as PlaywrightError

from components.browser.tab import Tab
from components.store import publish

INTERVAL_S = 0.2
MAX_FRAMES = 600
"""When there are more, every second frame is dropped: the video of a long run has a lower rate."""
MAX_SIZE = (1280, 960)
LAST_FRAME_S = 2.0
MAX_PAUSE_S = 3.0
"""Longer pauses, such as those in which a model thinks, are shortened to this."""


@dataclass(frozen=True)
class Frame:
    """An encoded picture and the monotonic time in seconds at which it came."""

    data: bytes
    time: float


class Screencast:
    """The recording of one episode."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._tab: Tab | None = None
        self._pending: set[asyncio.Task[None]] = set()
        self._heard: list[Tab] = []
        """The tabs whose frames are listened to."""

    async def follow(self, tab: Tab) -> None:
        """Record this tab from now on. A tab that is gone is left as it is."""
        if tab is self._tab:
            return
        before, self._tab = self._tab, tab
        if before is not None and not before.page.is_closed():
            await _command(before, "Page.stopScreencast")
        if tab not in self._heard:
            self._heard.append(tab)
            tab.cdp.on("Page.screencastFrame", lambda event: self._on_frame(tab, event))
        width, height = MAX_SIZE
        await _command(
            tab,
            "Page.startScreencast",
            {"format": "jpeg", "quality": 80, "maxWidth": width, "maxHeight": height},
        )

    def add(self, data: bytes) -> None:
        """Add a picture that was taken otherwise, such as an observation."""
        self.frames.append(Frame(data, time.monotonic()))
        if len(self.frames) > MAX_FRAMES:
            self.frames = self.frames[::2]

    def write(self, path: Path) -> None:
        """Encode the video and publish it by rename. Without a frame, nothing is written."""
        if not self.frames:
            return
        size = _decoded(self.frames[0]).size
        times = [frame.time for frame in self.frames]
        pauses = [later - earlier for earlier, later in pairwise(times)] + [LAST_FRAME_S]
        partial = path.with_name(f"{path.name}.part")
        with tempfile.NamedTemporaryFile(suffix=".tiff") as frames:
            # Pillow keeps all appended pictures in memory, but reads the pages of one file one by one
            with TiffImagePlugin.AppendingTiffWriter(frames.name, new=True) as pages:
                for frame in self.frames:
                    _fitted(_decoded(frame), size).save(pages, format="TIFF", compression="jpeg", quality=90)
                    pages.newFrame()
            with Image.open(frames.name) as pictures:
                pictures.save(
                    partial,
                    format="WEBP",
                    save_all=True,
                    duration=[max(20, round(min(pause, MAX_PAUSE_S) * 1000)) for pause in pauses],
                    loop=1,
                    quality=60,
                    method=0,
                )
        publish(partial, path)

    def _on_frame(self, tab: Tab, event: dict) -> None:
        if tab is self._tab:
            self.add(base64.b64decode(event["data"]))
        task = asyncio.ensure_future(_acknowledge(tab, event["sessionId"]))
        self._pending.add(task)  # asyncio keeps no reference to it
        task.add_done_callback(self._pending.discard)


async def _acknowledge(tab: Tab, number: int) -> None:
    """Let the browser send the next frame, after the shortest interval."""
    await asyncio.sleep(INTERVAL_S)
    await _command(tab, "Page.screencastFrameAck", {"sessionId": number})


async def _command(tab: Tab, method: str, arguments: dict | None = None) -> None:
    with contextlib.suppress(PlaywrightError):  # the tab or the browser has gone: the recording ends there
        await tab.cdp.send(method, arguments or {})


def _decoded(frame: Frame) -> Image.Image:
    return Image.open(io.BytesIO(frame.data)).convert("RGB")


def _fitted(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """The picture in the size of the video, with white borders if its form is another."""
    if picture.size == size:
        return picture
    picture.thumbnail(size)
    framed = Image.new("RGB", size, "white")
    framed.paste(picture, ((size[0] - picture.width) // 2, (size[1] - picture.height) // 2))
    return framed
