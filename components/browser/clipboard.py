"""The clipboard of one episode.

Chromium has one clipboard for all contexts of a browser, so a text copied in one episode could be pasted in another.
Therefore nothing is written to Chromium's clipboard: `clipboard.js` takes every copy and cut of a page, and the harness
gives the copied data to the documents of a tab before it presses the keys that paste. A page that asks to read the
clipboard (`navigator.clipboard.read`) is refused, as a browser refuses it without permission.

A frame in a renderer of its own gets the scripts with its DevTools session (`frame_sessions`), which the first call on
the page makes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

_HERE = Path(__file__).parent
WORLD = "waymark"
"""The name of our isolated JavaScript world in each document."""
MAX_COPIED = 1_000_000
"""Characters. If a page copies more, the clipboard keeps its content."""
FRAME_TIMEOUT_S = 2.0
"""Time limit for giving the content to all documents of a tab, or for reading it from them."""

_COPY = {"control+c", "control+x", "control+insert", "shift+delete"}
_PASTE = {"control+v", "control+shift+v", "shift+control+v", "shift+insert"}
_TAKE = "(() => { const copied = globalThis.waymarkCopied ?? null; globalThis.waymarkCopied = null; return copied; })()"


class Clipboard:
    """What the episode has copied: text by MIME type."""

    def __init__(self) -> None:
        self.content: dict[str, str] = {}

    def keep(self, copied: object) -> None:
        """Replace the content by the data that a document's script copied. None keeps the content."""
        if not isinstance(copied, dict):
            return
        content = {str(kind): text for kind, text in copied.items() if isinstance(text, str) and text}
        if content and sum(map(len, content.values())) <= MAX_COPIED:
            self.content = content

    @staticmethod
    def is_used_by(chord: str) -> bool:
        """Whether a chord, in Playwright's names, copies, cuts or pastes."""
        return _plain(chord) in _COPY | _PASTE

    async def before_keys(self, sessions: Sequence[CDPSession], chord: str) -> None:
        """Give the content to the documents of a tab if a chord pastes.

        Args:
            sessions: those of the tab (`Tab.frame_sessions`), its own first.
        """
        if _plain(chord) in _PASTE:
            for session in sessions:
                await _in_all_frames(session, f"globalThis.waymarkPaste = {json.dumps(self.content)}; null")

    async def after_keys(self, sessions: Sequence[CDPSession], chord: str) -> None:
        """Take what the documents of a tab copied if a chord copies or cuts."""
        if _plain(chord) in _COPY:
            for session in sessions:
                for copied in await _in_all_frames(session, _TAKE):
                    self.keep(copied)


async def isolate_clipboard(cdp: CDPSession) -> None:
    """Keep the documents of a session, the present and the future ones, from Chromium's own clipboard.

    Raises:
        playwright.async_api.Error: its page or frame is gone.
    """
    command = "Page.addScriptToEvaluateOnNewDocument"
    ours, pages = _sources()
    await asyncio.gather(
        cdp.send(command, {"source": ours, "worldName": WORLD, "runImmediately": True}),
        cdp.send(command, {"source": pages, "runImmediately": True}),
    )


def _plain(chord: str) -> str:
    """`Control+C` and `Control+KeyC` as `control+c`."""
    return chord.lower().replace("+key", "+")


async def _in_all_frames(cdp: CDPSession, expression: str) -> list[Any]:
    """The value of an expression in our world in each frame of a tab; frames that vanish or hang are left out."""
    values: list[Any] = []
    with contextlib.suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(FRAME_TIMEOUT_S):
            tree = (await cdp.send("Page.getFrameTree"))["frameTree"]
            for frame in _frames(tree):
                with contextlib.suppress(PlaywrightError):
                    world = await cdp.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": WORLD})
                    arguments = {
                        "expression": expression,
                        "contextId": world["executionContextId"],
                        "returnByValue": True,
                    }
                    values.append((await cdp.send("Runtime.evaluate", arguments))["result"].get("value"))
    return values


def _frames(tree: dict) -> Iterator[str]:
    yield tree["frame"]["id"]
    for child in tree.get("childFrames", []):
        yield from _frames(child)


@cache
def _sources() -> tuple[str, str]:
    return (_HERE / "clipboard.js").read_text(), (_HERE / "clipboard_page.js").read_text()
