"""Executing one tool call on the current tab and saying what came of it (OpenWebRL, appendices A.2 and A.3).

Each action notes the state before, acts, looks again once the page is quiet, and composes one line. What a page or the
browser refuses becomes a `Failed:` line; only a dead browser or a page that answers nothing is raised.
"""

from __future__ import annotations

import asyncio
from typing import Protocol
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Locator

from components.browser import feedback, tools
from components.browser.errors import EnvError, SandboxError
from components.browser.feedback import Effect, Element
from components.browser.tab import Tab, translate
from components.params import BrowserParams
from components.records import ToolCall

TYPED_KEY_BY_KEY = 200  # characters; longer text is inserted at once
ELEMENT_TIMEOUT_MS = 2000
_PICKED = "el => /^(date|time|month|week|datetime-local|color|range)$/.test(el.type || '')"
_OPTIONS = "el => [...(el.options || [])].map(option => option.label)"
_VALUE = "el => el.type === 'password' ? null : el.isContentEditable ? el.innerText : el.value ?? null"


class UnknownElementError(ValueError):
    """An id that no element of the page has."""


class Tabs(Protocol):
    """The tabs of an episode, as actions need them."""

    params: BrowserParams
    tabs: list[Tab]
    active: int
    answer: str | None

    @property
    def step_left_s(self) -> float: ...
    async def open_tab(self) -> int: ...
    async def activate(self, index: int) -> None: ...
    async def close_active(self) -> None: ...
    async def adopt_popups(self, expected: int) -> int | None: ...
    def absolute(self, url: str) -> str: ...


async def execute(tabs: Tabs, call: ToolCall) -> str:
    """Run one call; one line of feedback.

    Raises:
        SandboxError: the browser or the renderer died.
        EnvError: the page answers nothing any more.
    """
    if call.error is not None:
        return feedback.failed(call.name or "tool call", call.error)
    try:
        arguments = tools.parse_arguments(call.name, call.arguments)
    except ValueError as error:
        return feedback.failed(call.name, error)
    try:
        return await _ACTIONS[type(arguments)](tabs, arguments)
    except UnknownElementError as error:
        return feedback.failed(call.name, error)
    except PlaywrightError as error:
        translated = translate(error)
        active = tabs.tabs[tabs.active] if tabs.tabs else None  # a browser that died takes the last tab with it
        closed_itself = active is not None and active.page.is_closed() and not active.crashed
        if isinstance(translated, SandboxError) and not closed_itself:
            raise translated from error
        return feedback.failed(call.name, error)


# ---- pointer --------------------------------------------------------------------------------------------------------


async def _click(tabs: Tabs, call: tools.Click) -> str:
    point, pixels, clamped = _place(tabs, call.x, call.y)
    async with _Watch(tabs, pixels) as watch:
        await watch.tab.page.mouse.click(
            *pixels, button=call.button, click_count=2 if call.click_type == "double" else 1
        )
    return feedback.click(watch.target, point, watch.effect, watch.toggled, clamped)


async def _hover(tabs: Tabs, call: tools.Hover) -> str:
    point, pixels, clamped = _place(tabs, call.x, call.y)
    async with _Watch(tabs, pixels) as watch:
        await watch.tab.page.mouse.move(*pixels)
    return feedback.hover(watch.target, point, watch.effect, clamped)


async def _drag(tabs: Tabs, call: tools.Drag) -> str:
    start, start_pixels, clamped_start = _place(tabs, call.x1, call.y1)
    end, end_pixels, clamped_end = _place(tabs, call.x2, call.y2)
    async with _Watch(tabs, start_pixels) as watch:
        mouse = watch.tab.page.mouse
        await mouse.move(*start_pixels)
        await mouse.down()
        await mouse.move(*end_pixels, steps=8)
        await mouse.up()
    return feedback.drag(start, end, watch.effect, clamped_start or clamped_end)


# ---- elements by id -------------------------------------------------------------------------------------------------


async def _click_element(tabs: Tabs, call: tools.ClickElement) -> str:
    pixels, point = await _place_of(tabs, call.element)
    async with _Watch(tabs, pixels) as watch:
        await watch.tab.page.mouse.click(*pixels, button=call.button)
    return feedback.click(watch.target, point, watch.effect, watch.toggled, clamped=False)


async def _hover_element(tabs: Tabs, call: tools.HoverElement) -> str:
    pixels, point = await _place_of(tabs, call.element)
    async with _Watch(tabs, pixels) as watch:
        await watch.tab.page.mouse.move(*pixels)
    return feedback.hover(watch.target, point, watch.effect, clamped=False)


async def _write_element(tabs: Tabs, call: tools.WriteElement) -> str:
    locator = _locate(tabs, call.element)
    pixels, _ = await _place_of(tabs, call.element)
    async with _Watch(tabs, pixels) as watch:
        await locator.fill("", timeout=ELEMENT_TIMEOUT_MS)
        if len(call.text) <= TYPED_KEY_BY_KEY and not await locator.evaluate(_PICKED):
            await locator.press_sequentially(call.text, timeout=_navigation_ms(tabs))
        else:
            await locator.fill(call.text, timeout=ELEMENT_TIMEOUT_MS)
        actual = await locator.evaluate(_VALUE)
        if call.submit:
            await locator.press("Enter", timeout=ELEMENT_TIMEOUT_MS, no_wait_after=True)
    target = watch.target or Element("field")
    return feedback.write(target, call.text, actual, watch.effect, "write_element", call.submit)


async def _select_option(tabs: Tabs, call: tools.SelectOption) -> str:
    locator = _locate(tabs, call.element)
    labels = [" ".join(label.split()) for label in await locator.evaluate(_OPTIONS, timeout=ELEMENT_TIMEOUT_MS)]
    wanted = " ".join(call.option.split())
    chosen = next((label for label in labels if label == wanted), None) or next(
        (label for label in labels if label.lower() == wanted.lower()), None
    )
    if chosen is None:
        return feedback.failed("select_option", f'element {call.element} has no option "{wanted[:60]}"')
    async with _Watch(tabs) as watch:
        await locator.select_option(index=labels.index(chosen), timeout=ELEMENT_TIMEOUT_MS)
    return feedback.succeed(f'`select_option` chose "{chosen}".', str(watch.effect))


def _locate(tabs: Tabs, element: str) -> Locator:
    tab = tabs.tabs[tabs.active]
    selector = tab.element_ids.selector(element)
    if selector is None:
        raise UnknownElementError(f'no element of this page was shown with the id "{element}"')
    return tab.page.locator(selector)


async def _place_of(tabs: Tabs, element: str) -> tuple[tuple[float, float], tuple[int, int]]:
    """The middle of an element, scrolled into view: CSS pixels of the viewport, and the 0-1000 scale."""
    locator = _locate(tabs, element)
    try:
        await locator.scroll_into_view_if_needed(timeout=ELEMENT_TIMEOUT_MS)
        box = await locator.bounding_box(timeout=ELEMENT_TIMEOUT_MS)
    except PlaywrightError as error:
        if isinstance(translate(error), SandboxError):
            raise
        box = None
    if box is None:
        raise UnknownElementError(f"the page has no visible element {element}")
    width, height = tabs.params.viewport
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    point, pixels, _ = _place(tabs, x / width * tools.SCALE, y / height * tools.SCALE)
    return pixels, point


# ---- keyboard -------------------------------------------------------------------------------------------------------


async def _write(tabs: Tabs, call: tools.Write) -> str:
    tab = tabs.tabs[tabs.active]
    focus = (await tab.ask(op="clear"))["focus"]
    if focus is None:
        return feedback.failed("write", "no field has the focus; click a field first")
    target = _element(focus)
    if focus["select"]:
        if not (await tab.ask(op="choose", text=call.text))["chosen"]:
            return feedback.failed("write", f'{target} has no option "{call.text[:60]}"')
    elif focus["frozen"]:
        return feedback.failed("write", f"{target} is disabled or read-only")
    elif not focus["editable"]:
        return feedback.failed("write", f"the focus is on {target}, which takes no text; click a field first")
    async with _Watch(tabs) as watch:
        keyboard = tab.page.keyboard
        if focus["fill"]:
            await tab.page.locator(":focus").fill(call.text, timeout=tabs.params.step_timeout_s * 500)
        elif not focus["select"]:
            if focus["value"]:
                await keyboard.press("Delete")
            if len(call.text) <= TYPED_KEY_BY_KEY:
                await keyboard.type(call.text)
            else:
                await keyboard.insert_text(call.text)
    after = watch.focus
    actual = after["value"] if after and _element(after).tag == target.tag and not focus["select"] else None
    if actual is not None and focus["secret"] and actual != call.text:
        actual = "*" * len(actual)
    return feedback.write(target, call.text, actual, watch.effect)


async def _press_keys(tabs: Tabs, call: tools.PressKeys) -> str:
    keys = tools.normalise_keys(call.keys)
    async with _Watch(tabs) as watch:
        for key in keys:
            await watch.tab.page.keyboard.press(key)
    return feedback.press_keys(keys, watch.effect)


# ---- navigation -----------------------------------------------------------------------------------------------------


async def _scroll(tabs: Tabs, call: tools.Scroll) -> str:
    at, clamped = None, False
    if call.x is not None and call.y is not None:
        _, at, clamped = _place(tabs, call.x, call.y)
    tab = tabs.tabs[tabs.active]
    before = await tab.mark()
    moved = (await tab.ask(op="scroll", at=at, direction=call.direction, amount=call.amount))["moved"]
    await tab.look(tabs.params.settle_ms, before["changes"])
    return feedback.scroll(call.direction, call.amount, moved, clamped)


async def _goto_url(tabs: Tabs, call: tools.GotoUrl) -> str:
    url = tabs.absolute(call.url)
    if urlsplit(url).scheme not in ("http", "https") and url != "about:blank":
        return feedback.failed("goto_url", f"only http and https pages can be opened, not {call.url}")
    async with _Watch(tabs) as watch:
        await watch.tab.page.goto(url, wait_until="domcontentloaded", timeout=_navigation_ms(tabs))
    return feedback.succeed("`goto_url` executed.", f"Page navigated to {watch.url}.", *watch.effect.asides)


async def _go_back(tabs: Tabs, _: tools.GoBack) -> str:
    index, _entries = await tabs.tabs[tabs.active].history()
    if index == 0:
        return feedback.failed("go_back", "there is no previous page")
    async with _Watch(tabs) as watch:
        await watch.tab.page.go_back(wait_until="domcontentloaded", timeout=_navigation_ms(tabs))
    return feedback.succeed("`go_back` executed.", f"Page navigated to {watch.url}.", *watch.effect.asides)


async def _go_forward(tabs: Tabs, _: tools.GoForward) -> str:
    index, entries = await tabs.tabs[tabs.active].history()
    if index + 1 >= entries:
        return feedback.failed("go_forward", "there is no next page")
    async with _Watch(tabs) as watch:
        await watch.tab.page.go_forward(wait_until="domcontentloaded", timeout=_navigation_ms(tabs))
    return feedback.succeed("`go_forward` executed.", f"Page navigated to {watch.url}.", *watch.effect.asides)


async def _wait(tabs: Tabs, call: tools.Wait) -> str:
    async with _Watch(tabs) as watch:
        seconds = min(call.seconds, tabs.step_left_s / 2)  # waiting is the agent's right and must not end its episode
        await asyncio.sleep(seconds)
    return feedback.succeed(f"`wait` {round(seconds, 1):g} s executed.", str(watch.effect))


# ---- tabs and the end -----------------------------------------------------------------------------------------------


async def _new_tab(tabs: Tabs, _: tools.NewTab) -> str:
    return feedback.succeed(f"`new_tab` opened tab {await tabs.open_tab()}.")


async def _switch_tab(tabs: Tabs, call: tools.SwitchTab) -> str:
    if not 0 <= call.index < len(tabs.tabs):
        return feedback.failed("switch_tab", f"there is no tab {call.index}; tabs are 0 to {len(tabs.tabs) - 1}")
    await tabs.activate(call.index)
    return feedback.succeed(f"`switch_tab` switched to tab {call.index} ({tabs.tabs[tabs.active].page.url}).")


async def _close_tab(tabs: Tabs, _: tools.CloseTab) -> str:
    if len(tabs.tabs) == 1:
        return feedback.failed("close_tab", "the last tab cannot be closed")
    closed = tabs.active
    await tabs.close_active()
    return feedback.succeed(
        f"`close_tab` closed tab {closed}. Tab {tabs.active} ({tabs.tabs[tabs.active].page.url}) is active."
    )


async def _done(tabs: Tabs, call: tools.Done) -> str:
    if tabs.answer is None:
        tabs.answer = call.answer
    return feedback.done(call.answer)


_ACTIONS = {
    tools.Click: _click,
    tools.Hover: _hover,
    tools.Drag: _drag,
    tools.Write: _write,
    tools.PressKeys: _press_keys,
    tools.Scroll: _scroll,
    tools.GotoUrl: _goto_url,
    tools.GoBack: _go_back,
    tools.GoForward: _go_forward,
    tools.ClickElement: _click_element,
    tools.HoverElement: _hover_element,
    tools.WriteElement: _write_element,
    tools.SelectOption: _select_option,
    tools.Wait: _wait,
    tools.NewTab: _new_tab,
    tools.SwitchTab: _switch_tab,
    tools.CloseTab: _close_tab,
    tools.Done: _done,
}


class _Watch:
    """What a call did to the active tab: entered before it acts, left when the page is quiet."""

    def __init__(self, tabs: Tabs, pixels: tuple[float, float] | None = None) -> None:
        self.tabs = tabs
        self.tab = tabs.tabs[tabs.active]
        self.pixels = pixels
        self.target: Element | None = None
        self.effect = Effect()
        self.toggled = ""
        self.focus: dict | None = None
        self.url = ""

    async def __aenter__(self) -> _Watch:
        before = await self.tab.mark(self.pixels)
        self.target = _element(before["target"]) if before["target"] else None
        self._url, self._changes = before["url"], before["changes"]
        self._documents, self._popups = self.tab.documents, self.tab.popups
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None:
            return
        try:
            after = await self.tab.look(self.tabs.params.settle_ms, self._changes)
        except EnvError:
            if not self.tab.page.is_closed():
                raise
            await self.tabs.close_active()  # the page closed itself
            self.effect = Effect(tab_closed=True, asides=self._asides())
            return
        moved = after["url"] != self._url or self.tab.documents != self._documents
        opened = (
            await self.tabs.adopt_popups(self.tab.popups - self._popups) if self.tab.popups != self._popups else None
        )
        self.effect = Effect(
            navigated_to=after["url"] if moved else None,
            new_tab=opened,
            new_tab_url=self.tabs.tabs[opened].page.url if opened is not None else "",
            asides=self._asides(),
        )
        self.toggled, self.focus, self.url = after["toggled"], after["focus"], after["url"]

    def _asides(self) -> tuple[str, ...]:
        """What is still to be said of the tab, those things included that happened between calls."""
        said, self.tab.asides = tuple(self.tab.asides), []
        return said


def _place(tabs: Tabs, x: float, y: float) -> tuple[tuple[int, int], tuple[float, float], bool]:
    """A point of the 0-1000 scale: rounded and clamped, in CSS pixels of the viewport, and whether it was outside."""
    width, height = tabs.params.viewport
    inside = (min(max(x, 0), tools.SCALE), min(max(y, 0), tools.SCALE))
    pixels = (min(inside[0] / tools.SCALE * width, width - 1), min(inside[1] / tools.SCALE * height, height - 1))
    return (round(inside[0]), round(inside[1])), pixels, inside != (x, y)


def _element(described: dict) -> Element:
    return Element(described["tag"], described["role"], described["name"])


def _navigation_ms(tabs: Tabs) -> float:
    return tabs.params.step_timeout_s * 500
