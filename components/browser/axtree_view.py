"""Takes a snapshot of the accessibility tree of what is in view, in pages of any size.

Playwright takes it (`Locator.aria_snapshot`). Our selector engine `axtree_view.js` is the root of the snapshot: in a
document of `LARGE` or more elements it makes Playwright pass over what is outside of the viewport. Smaller documents
are walked whole. Either way the caller drops what is outside of the viewport (`axtree.simplify`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import ElementHandle, Frame, Locator, Page, Playwright

from components.browser.axtree import ACTIONABLE, NOTHING, Node, NotShown
from components.browser.axtree_snapshot import parse
from components.browser.page_state import Answer, AnyAnswer, Flag, Text
from components.browser.playwright_errors import NavigatedError

ENGINE = "waymark-view"
"""Name of the selector engine."""
LARGE = 1000
"""Elements from which on a document is not walked whole."""
BUDGET = 1500
"""Elements of one large document that are walked."""
FRAME_TIMEOUT_S = 2.0
"""A child frame that does not answer for so long is left out, with the frames in it."""


_FUNCTIONS = ("image_maps.js", "boxless.js", "unseen_fields.js", "options.js")


class _Silenced(Answer):
    """The answer to `silent`."""

    in_view: Flag
    """Whether the frame is in view."""


class _Editors(Answer):
    """The answer to `editors`."""

    texts: dict[str, Text]
    """By the editors' references."""


class _Left(Answer):
    """The answer to `left`."""

    left: int | None
    """Number of elements in view that the last snapshot left out; None if the document is a new one."""


@dataclass(frozen=True)
class Snapshot:
    """The accessible elements of a page."""

    nodes: list[Node]
    """The roots."""
    not_shown: NotShown = NOTHING
    """Without the screens above and below the view, which the page's state has (`PageState.beyond`)."""


async def register(playwright: Playwright) -> None:
    """Make the engine known to a Playwright, before the first page opens."""
    script = engine(Path(__file__).with_suffix(".js"))
    await playwright.selectors.register(ENGINE, script=script, content_script=True)


def engine(path: Path) -> str:
    """The source of a selector engine in a file, with the functions of the files in `_FUNCTIONS`."""
    functions = "\n".join(path.with_name(name).read_text() for name in _FUNCTIONS)
    return f"(() => {{{functions}\nreturn (\n{path.read_text()});}})()"


async def take_snapshot(page: Page, timeout_s: float, editors: bool = True) -> Snapshot:
    """The accessible elements of a page and its frames, with the contents of password fields as asterisks.

    Each question to a document costs half as much as the snapshot of a small page, so only those documents are asked
    whose snapshot may lack something.

    Args:
        editors: whether there may be editors in the page's own document (`PageState.editors`).

    Raises:
        playwright.async_api.Error: the page did not answer within `timeout_s`, navigated, or died.
        NavigatedError: a frame was replaced during the snapshot.
    """
    children = page.frames[1:]
    silent = await _prepare(children)
    missing = await _leave_out(silent, page.main_frame) if silent else 0
    children = [frame for frame in children if silent.isdisjoint(_line(frame))]
    root = f"{ENGINE}=body {LARGE} {BUDGET}"
    nodes = parse(await page.locator(root).aria_snapshot(mode="ai", boxes=True, timeout=timeout_s * 1000))
    await _read_editors(nodes, [page.main_frame] if editors else [], children)
    frames = [page.main_frame] if sum(1 for root in nodes for _ in root.walk()) > BUDGET // 2 else []
    if any(_has_fields(root) for root in nodes):
        frames += children
    left_out = await asyncio.gather(*(_left_out(frame) for frame in frames))
    return Snapshot(nodes, NotShown(sum(left_out), missing))


async def _prepare(frames: Iterable[Frame]) -> set[Frame]:
    """Prepare child frames for a snapshot of their page. Returns those that do not answer."""
    tasks = {
        asyncio.ensure_future(frame.locator(f"{ENGINE}=frame {LARGE} {BUDGET}").count()): frame for frame in frames
    }
    if not tasks:
        return set()
    try:
        answered, waiting = await asyncio.wait(tasks, timeout=FRAME_TIMEOUT_S)
        for task in answered:
            task.result()
        return {tasks[task] for task in waiting}
    finally:
        for task in tasks:
            task.cancel()


async def _leave_out(silent: set[Frame], main: Frame) -> int:
    """Leave frames that do not answer out of the snapshot: mark them, so that the documents around them skip them.

    A surrounding frame that does not answer either is added to `silent`. Returns how many marked frames are in view.
    """
    outermost = [frame for frame in silent if silent.isdisjoint(_line(frame.parent_frame))]
    in_view = await asyncio.gather(*(_mark(frame) for frame in outermost))
    silent |= await _prepare({frame.parent_frame for frame in outermost if frame.parent_frame is not None} - {main})
    return sum(in_view)


async def _mark(frame: Frame) -> bool:
    element = await (await frame.frame_element()).query_selector(f"{ENGINE}=silent")
    return element is not None and (await _parsed(_Silenced, element)).in_view


def _line(frame: Frame | None) -> Iterator[Frame]:
    """A frame and the frames around it."""
    while frame is not None:
        yield frame
        frame = frame.parent_frame


async def _read_editors(nodes: list[Node], main: list[Frame], children: list[Frame]) -> None:
    """Give editors their text, of which Playwright leaves out what is directly in a textbox.

    The elements in an editor are left out then, unless one of them can be acted on.
    """
    boxes = [node for root in nodes for node in root.walk() if node.role == "textbox" and not node.text]
    in_frames = [(node.id or "").startswith("f") for node in boxes]
    places = [*([] if all(in_frames) else main), *(children if any(in_frames) else [])]
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
    return (await _parsed(_Editors, frame.locator(f"{ENGINE}=editors"))).texts


async def _left_out(frame: Frame) -> int:
    left = (await _parsed(_Left, frame.locator(f"{ENGINE}=left"))).left
    if left is None:  # the document is a new one, in which passwords are not masked
        raise NavigatedError("a frame was replaced during the snapshot")
    return left


async def _parsed(answer: type[AnyAnswer], element: ElementHandle | Locator) -> AnyAnswer:
    """An answer of the engine, which is the text of an element outside of the document."""
    return answer.model_validate_json(await element.text_content() or "")


def _has_fields(node: Node, in_frame: bool = False) -> bool:
    """Whether a frame has a text field with content."""
    in_frame = in_frame or node.role == "iframe"
    return (in_frame and node.role == "textbox" and bool(node.text)) or any(
        _has_fields(child, in_frame) for child in node.children
    )
