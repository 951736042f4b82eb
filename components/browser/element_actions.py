"""Actions on elements by their ids, and the way forward in the history: what the protocols over text add to the tools.

An id is one that the last accessibility tree of the tab showed (`axtree`). The element is scrolled into view and then
pointed at, so that a click does what a user's would.
"""

from __future__ import annotations

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Locator

from components.browser import feedback, tools
from components.browser.errors import SandboxError
from components.browser.feedback import Element
from components.browser.tab import translate
from components.browser.watch import Tabs, Watch, navigation_ms, place

TYPED_KEY_BY_KEY = 200  # characters; longer text is inserted at once
ELEMENT_TIMEOUT_MS = 2000
_PICKED = "el => /^(date|time|month|week|datetime-local|color|range)$/.test(el.type || '')"
_OPTIONS = "el => [...(el.options || [])].map(option => option.label)"
_VALUE = "el => el.type === 'password' ? null : el.isContentEditable ? el.innerText : el.value ?? null"


class UnknownElementError(ValueError):
    """An id that no element of the page has."""


async def _click_element(tabs: Tabs, call: tools.ClickElement) -> str:
    pixels, point = await _place_of(tabs, call.element)
    async with Watch(tabs, pixels) as watch:
        await watch.tab.page.mouse.click(*pixels, button=call.button)
    return feedback.click(watch.target, point, watch.effect, watch.state, clamped=False)


async def _hover_element(tabs: Tabs, call: tools.HoverElement) -> str:
    pixels, point = await _place_of(tabs, call.element)
    async with Watch(tabs, pixels) as watch:
        await watch.tab.page.mouse.move(*pixels)
    return feedback.hover(watch.target, point, watch.effect, clamped=False)


async def _write_element(tabs: Tabs, call: tools.WriteElement) -> str:
    locator = _locate(tabs, call.element)
    pixels, _ = await _place_of(tabs, call.element)
    async with Watch(tabs, pixels) as watch:
        await locator.fill("", timeout=ELEMENT_TIMEOUT_MS)
        if len(call.text) <= TYPED_KEY_BY_KEY and not await locator.evaluate(_PICKED):
            await locator.press_sequentially(call.text, timeout=navigation_ms(tabs))
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
    async with Watch(tabs) as watch:
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
    point, pixels, _ = place(tabs, x / width * tools.SCALE, y / height * tools.SCALE)
    return pixels, point


async def _go_forward(tabs: Tabs, _: tools.GoForward) -> str:
    index, entries = await tabs.tabs[tabs.active].history()
    if index + 1 >= entries:
        return feedback.failed("go_forward", "there is no next page")
    async with Watch(tabs) as watch:
        await watch.tab.page.go_forward(wait_until="domcontentloaded", timeout=navigation_ms(tabs))
    return feedback.succeed("`go_forward` executed.", f"Page navigated to {watch.url}.", *watch.effect.asides)


ELEMENT_ACTIONS = {
    tools.ClickElement: _click_element,
    tools.HoverElement: _hover_element,
    tools.WriteElement: _write_element,
    tools.SelectOption: _select_option,
    tools.GoForward: _go_forward,
}
