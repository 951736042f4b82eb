"""Takes a snapshot of the accessibility tree of what is in view, in pages of any size.

Playwright takes it (`Locator.aria_snapshot`). Our selector engine `axtree_view.js` is the root of the snapshot: in a
document of `LARGE` or more elements it makes Playwright pass over what is outside of the viewport. Smaller documents
are walked whole. Either way the caller drops what is outside of the viewport (`axtree.simplify`).
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Frame, Page, Playwright

from components.browser.axtree import ACTIONABLE, Node
from components.browser.axtree_snapshot import parse
from components.browser.playwright_errors import NavigatedError

ENGINE = "waymark-view"
"""Name of the selector engine."""
LARGE = 1000
"""Elements from which on a document is not walked whole."""
BUDGET = 1500
"""Elements of one large document that are walked."""
FRAME_TIMEOUT_S = 2.0
"""A child frame that does not answer for so long is left out, with all other frames."""


@dataclass(frozen=True)
class Snapshot:
    """The accessible elements of a page."""

    nodes: list[Node]
    """The roots."""
    left_out: int = 0
    """Number of elements in view that are over the budget."""


async def register(playwright: Playwright) -> None:
    """Make the engine known to a Playwright, before the first page opens."""
    script = engine(Path(__file__).with_suffix(".js"))
    await playwright.selectors.register(ENGINE, script=script, content_script=True)


def engine(path: Path) -> str:
    """The source of a selector engine in a file, with the functions of `image_maps.js`."""
    areas = path.with_name("image_maps.js").read_text()
    return f"(() => {{{areas}\nreturn (\n{path.read_text()});}})()"


async def take_snapshot(page: Page, timeout_s: float) -> Snapshot:
    """The accessible elements of a page and its frames, with the contents of password fields as asterisks.

    Raises:
        playwright.async_api.Error: the page did not answer within `timeout_s`, navigated, or died.
        NavigatedError: a frame was replaced during the snapshot.
    """
    children = page.frames[1:]
    answers = await _prepare(children) if children else True
    root = f"{ENGINE}=body {LARGE} {BUDGET}" + ("" if answers else " no-frames")
    nodes = parse(await page.locator(root).aria_snapshot(mode="ai", boxes=True, timeout=timeout_s * 1000))
    await _read_editors(nodes, page.frames)
    frames = [page.main_frame] if sum(1 for root in nodes for _ in root.walk()) > BUDGET // 2 else []
    if answers and any(_has_fields(root) for root in nodes):
        frames += children
    left_out = await asyncio.gather(*(_left_out(frame) for frame in frames))
    return Snapshot(nodes, sum(left_out))


async def _prepare(frames: list[Frame]) -> bool:
    """Prepare child frames for a snapshot of their page. Returns whether all answered."""
    try:
        async with asyncio.timeout(FRAME_TIMEOUT_S):
            await asyncio.gather(*(frame.locator(f"{ENGINE}=frame {LARGE} {BUDGET}").count() for frame in frames))
    except TimeoutError:
        return False
    return True


async def _read_editors(nodes: list[Node], frames: list[Frame]) -> None:
    """Give editors their text, of which Playwright leaves out what is directly in a textbox.

    The elements in an editor are left out then, unless one of them can be acted on.
    """
    boxes = [node for root in nodes for node in root.walk() if node.role == "textbox" and not node.text]
    in_frames = [(node.id or "").startswith("f") for node in boxes]
    places = [*([] if all(in_frames) else frames[:1]), *(frames[1:] if any(in_frames) else [])]
    texts: dict[str, str] = {}
    for answer in await asyncio.gather(*(_editors(frame) for frame in places)):
        texts |= answer
    for node in boxes:
        if node.id in texts:
            node.text = " ".join(texts[node.id].split())
            inside = [child for root in node.children for child in root.walk()]
            if not any(child.role in ACTIONABLE for child in inside):
                node.children = []


async def _editors(frame: Frame) -> dict[str, str]:
    return json.loads(await frame.locator(f"{ENGINE}=editors").text_content() or "{}")


async def _left_out(frame: Frame) -> int:
    answer = json.loads(await frame.locator(f"{ENGINE}=left").text_content() or "null")
    if answer is None:  # the document is a new one, in which passwords are not masked
        raise NavigatedError("a frame was replaced during the snapshot")
    return answer


def _has_fields(node: Node, in_frame: bool = False) -> bool:
    """Whether a frame has a text field with content."""
    in_frame = in_frame or node.role == "iframe"
    return (in_frame and node.role == "textbox" and bool(node.text)) or any(
        _has_fields(child, in_frame) for child in node.children
    )
