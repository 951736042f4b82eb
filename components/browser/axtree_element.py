"""Acts on the elements that an accessibility tree numbered. The rules are in `axtree_element.js`.

One request is one round trip, and none waits for an element that has left the page.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame, Locator, Playwright
from pydantic import BaseModel, ConfigDict

from components.browser.axtree_view import engine
from components.browser.devtools import PROBE_TIMEOUT_S
from components.browser.errors import EnvError, SandboxError
from components.browser.page_state import NearOptions
from components.browser.playwright_errors import translate
from components.browser.tab import Tab

ENGINE = "waymark-element"
"""Name of the selector engine."""


class UnknownElementError(ValueError):
    """No element of the page has this id, or it cannot be acted on; the message is the reason."""


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class Place(_Answer):
    """Where an element is clicked, scrolled into view."""

    x: float
    """CSS pixels of the viewport; of the element's box if it is in a frame of another origin."""
    y: float
    own: bool
    """Whether the point is the element's, so that nothing covers it."""
    remote: bool
    """Whether the element is in a frame of another origin."""


class Field(_Answer):
    """A field that has been focused for writing."""

    editable: bool
    frozen: bool
    """Whether it is a field that is disabled or read-only."""
    editor: bool = False
    """Whether the page edits the text, or the field is in a frame: it has the focus, and nothing else is known."""
    picked: str = ""
    """The type of an input whose value is set at once, as `date`; empty for others."""
    filled: bool = False
    content: str | None = None
    """None for a password."""
    lines: bool = False
    """Whether it takes line breaks."""


class Choice(_Answer):
    """What `choose` did."""

    chosen: str | None
    """The option's label; None if the element has no such option, or several."""
    near: NearOptions = NearOptions()
    """What options it has instead."""
    frozen: bool
    multiple: bool = False
    """Whether the select takes several options."""
    kept: bool = True
    """Whether the option is still selected after the page has handled the events."""
    selected: tuple[str, ...] = ()
    """The labels of all options that are selected then."""


class Content(_Answer):
    """The answer to `value`."""

    value: str | None
    """None for a password."""


class PageElement:
    """An element that the tab's tree has shown.

    Raises:
        UnknownElementError: the tree has shown no element with this id.
    """

    def __init__(self, tab: Tab, shown: str) -> None:
        reference = tab.element_ids.reference(shown)
        if reference is None:
            raise UnknownElementError(f'no element of this page was shown with the id "{shown}"')
        self._tab = tab
        self._shown = shown
        self._reference = reference

    async def place(self, without_scroll: bool = False) -> Place:
        """Scroll the element into view, unless `without_scroll`, and choose the point to click. Raises as `ask`."""
        frame, answer = await self._ask("place", without_scroll)
        if answer is None:
            raise UnknownElementError(f"the page has no visible element {self._shown}")
        place = Place.model_validate(answer)
        if not place.remote:
            return place
        locator = self._locator(frame)
        if not without_scroll:
            await locator.scroll_into_view_if_needed(timeout=PROBE_TIMEOUT_S * 500)
        box = await locator.bounding_box(timeout=PROBE_TIMEOUT_S * 500)
        if box is None:
            raise UnknownElementError(f"the page has no visible element {self._shown}")
        x, y = box["x"] + place.x, box["y"] + place.y
        return place.model_copy(update={"x": x, "y": y, "own": place.own and await self._is_uncovered(frame, x, y)})

    async def _is_uncovered(self, frame: Frame | None, x: float, y: float) -> bool:
        """Whether the documents around a frame cover none of its frames at a point of the viewport."""
        try:
            async with self._tab.limits.limit(PROBE_TIMEOUT_S):
                while frame is not None and frame.parent_frame is not None:
                    element = await frame.frame_element()
                    box = await element.bounding_box()
                    if box is None:
                        return False
                    point = [(x - box["x"]) / box["width"], (y - box["y"]) / box["height"]]
                    answer = await element.query_selector(f"{ENGINE}=- uncovered {quote(json.dumps(point), safe='')}")
                    if answer is None or not json.loads(await answer.text_content() or "false"):
                        return False
                    frame = frame.parent_frame
        except TimeoutError as error:
            raise self._silent() from error
        return True

    async def focus(self) -> bool:
        """Focus the element. Returns whether it took the focus. Raises as `ask`."""
        return bool(await self.ask("focus"))

    async def edit(self, clear: bool) -> Field:
        """Focus the field and select what it holds; without `clear`, put the cursor behind it. Raises as `ask`."""
        return Field.model_validate(await self.ask("edit", clear))

    async def choose(self, option: str) -> Choice:
        """Choose an option of a select by its label, beside others if it takes several. Raises as `ask`."""
        return Choice.model_validate(await self.ask("choose", option))

    async def value(self) -> str | None:
        """The field's content; None for a password. Raises as `ask`."""
        return Content.model_validate(await self.ask("value")).value

    async def fill(self, value: str) -> None:
        """Set the value of a date or another picked field. Raises Playwright's error if it does not take it."""
        frame, _ = await self._ask("value")
        try:
            async with self._tab.limits.limit(PROBE_TIMEOUT_S / 2):
                await self._locator(frame).fill(value, timeout=0)
        except TimeoutError as error:
            raise PlaywrightError(f"the field did not take the value within {PROBE_TIMEOUT_S / 2:.0f} s") from error

    async def ask(self, request: str, *arguments: object) -> Any:
        """The answer of `axtree_element.js`.

        Raises:
            UnknownElementError: the element has left the page.
            EnvError: the page's own document does not answer. If a frame does not answer, the error is
                `UnknownElementError`.
            SandboxError: the browser died.
        """
        answer = (await self._ask(request, *arguments))[1]
        if answer is None:
            raise UnknownElementError(f"the page has no visible element {self._shown}")
        return answer

    async def _ask(self, request: str, *arguments: object) -> tuple[Frame, Any]:
        """The frame that has the element, and its answer; None if no frame has the element."""
        page = self._tab.page
        frames = page.frames if self._reference.startswith("f") else [page.main_frame]  # `f`: an id of another frame
        selector = f"{ENGINE}={self._reference} {request} {quote(json.dumps(arguments), safe='')}"
        try:
            async with self._tab.limits.limit(PROBE_TIMEOUT_S):  # a dialog that the agent is to answer stops it
                return await _first_answer(frames, selector) or (page.main_frame, None)
        except TimeoutError as error:
            if self._reference.startswith("f"):
                raise self._silent() from error
            raise EnvError(f"the page did not answer within {PROBE_TIMEOUT_S:.0f} s") from error

    def _silent(self) -> UnknownElementError:
        """The error for an element in a frame that does not answer. If the whole page does not, observing it fails."""
        return UnknownElementError(f"the frame of element {self._shown} did not answer within {PROBE_TIMEOUT_S:.0f} s")

    def _locator(self, frame: Frame) -> Locator:
        return frame.locator(f"{ENGINE}={self._reference} self")


async def register(playwright: Playwright) -> None:
    """Make the engine known to a Playwright, before the first page opens."""
    script = engine(Path(__file__).with_suffix(".js"))
    await playwright.selectors.register(ENGINE, script=script, content_script=True)


async def _first_answer(frames: Sequence[Frame], selector: str) -> tuple[Frame, Any] | None:
    """The frame that has the element, and its answer; None if no frame has it. Frames that do not answer are awaited
    only if no other frame has the element."""
    waiting = {asyncio.create_task(_text(frame, selector)): frame for frame in frames}
    try:
        while waiting:
            for task in (await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED))[0]:
                frame = waiting.pop(task)
                if (answer := json.loads(task.result())) is not None:
                    return frame, answer
        return None
    finally:
        for task in waiting:
            task.cancel()


async def _text(frame: Frame, selector: str) -> str:
    try:
        return await frame.locator(selector).text_content(timeout=0) or "null"
    except PlaywrightError as error:
        if isinstance(translate(error), SandboxError) and not frame.is_detached():
            raise
        return "null"  # the document is being replaced
