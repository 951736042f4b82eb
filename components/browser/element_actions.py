"""Actions that only the text protocols have: on elements by their ids, and forward in the history.

An id is one that an accessibility tree of the tab's document showed (`axtree`). The element is scrolled into view and
the mouse acts on a point of it that nothing covers: its centre, or else a point of its rectangles, as of a link that
wraps over two lines. An element that is covered everywhere is not clicked; the feedback names what covers it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Error as PlaywrightError

from components.browser import feedback, tools
from components.browser.axtree_element import Field, PageElement, Place, UnknownElementError
from components.browser.effects import ActingSession, ObservedCall, input_limit, navigate, to_viewport
from components.browser.errors import EnvError, SandboxError
from components.browser.feedback import Element
from components.browser.field_values import field_value
from components.browser.focused_frame import FRAMES, focused_element
from components.browser.held_keys import held
from components.browser.keys import is_typed, normalise_keys
from components.browser.tab import Tab
from components.browser.writing import (
    ONE_LINE,
    TYPED_KEY_BY_KEY,
    content,
    enter,
    no_option,
    option_notes,
    taken_text,
)

DRAWING_LOOKS, DRAWING_S = 5, 0.05
"""An editor may draw its text after the keys: it is looked at so often, and so many seconds apart."""
REPLACED = "Note: the field left the page while it was written into."

Actions = dict[type[tools.Arguments], Callable[[ActingSession, Any], Awaitable[str]]]
"""What runs a call, by the type of its arguments, which is the type of the second parameter."""


async def _click_element(session: ActingSession, call: tools.ClickElement) -> str:
    pixels, point = await _point_of(session, call.element)
    return await click(session, call, pixels, point)


async def click(
    session: ActingSession,
    call: tools.Click | tools.ClickElement,
    pixels: tuple[float, float],
    point: tuple[int, int],
    clamped: bool = False,
) -> str:
    """Click as a call says. The line names the options of a `<select>` that has the focus then.

    Args:
        pixels: where, in CSS pixels of the viewport.
        point: the same on the 0-1000 scale.
        clamped: whether the call's coordinates were outside of the scale.
    """
    may_open = call.button == "middle" or bool(call.modifiers)
    pressed = held(session.tabs.active, call.modifiers)
    async with ObservedCall(session, pixels, may_open=may_open) as observed, input_limit(session), pressed:
        await observed.tab.page.mouse.click(
            *pixels, button=call.button, click_count=2 if call.click_type == "double" else 1
        )
    line = feedback.click(observed.target, point, observed.effect, observed.state, clamped)
    if not session.names_options or observed.target is None or observed.target.tag not in ("select", *FRAMES):
        return line
    if observed.effect.navigated_to or observed.effect.new_tab is not None or observed.effect.now_active:
        return line
    try:
        return " ".join([line, *await option_notes(session, isinstance(call, tools.ClickElement))])
    except SandboxError:
        raise
    except (PlaywrightError, EnvError):  # the frame left or hangs, but the click was made
        return line


async def _hover_element(session: ActingSession, call: tools.HoverElement) -> str:
    pixels, point = await _point_of(session, call.element)
    async with ObservedCall(session, pixels, hovered=True) as observed, input_limit(session):
        await observed.tab.page.mouse.move(*pixels)
    return feedback.hover(observed.target, point, observed.effect, clamped=False)


async def _drag_element(session: ActingSession, call: tools.DragElement) -> str:
    await _point_of(session, call.to)
    start_pixels, start = await _point_of(session, call.element)
    target = PageElement(session.tabs.active, call.to)
    end = await target.place(without_scroll=True)  # the scroll to the start element may have moved the target
    if not _is_in_view(session.tabs.active, end):
        raise UnknownElementError(f"elements {call.element} and {call.to} are not in view together")
    end_pixels, end_point = _in_viewport(session, end.x, end.y)
    async with ObservedCall(session, start_pixels) as observed, input_limit(session):
        await drag(observed.tab, start_pixels, end_pixels)
    return feedback.drag(start, end_point, observed.effect, clamped=False)


async def _write_element(session: ActingSession, call: tools.WriteElement) -> str:
    element = PageElement(session.tabs.active, call.element)
    place = await element.place()
    at = _in_viewport(session, place.x, place.y)[0]
    async with ObservedCall(session, at) as observed, input_limit(session):
        field = await element.edit(call.clear)
        if field.frozen or not field.editable:
            raise UnknownElementError(
                f"element {call.element} {'is disabled or read-only' if field.frozen else 'takes no text'}"
            )
        try:
            if field.editor:
                written = await _write_editor(observed.tab, call)
            else:
                written = await _write_field(observed.tab, element, field, call)
        except ValueError as error:
            raise UnknownElementError(str(error)) from error
        if call.submit:
            await observed.tab.page.keyboard.press("Enter")
    target = written.editor or observed.target or Element("field")
    line = feedback.write(target, call.text, written.actual, observed.effect, "write_element", call.submit)
    if written.lost and not observed.effect.navigated_to:
        return f"{line} {REPLACED}"
    return line if written.lines or "\n" not in call.text else f"{line} {ONE_LINE}"


@dataclass(frozen=True)
class _Written:
    actual: str | None
    """What the field holds, or the text of the call if it is as expected; None if it cannot be read any more."""
    lines: bool
    """Whether it takes line breaks."""
    lost: bool = False
    """Whether the field has left the page."""
    editor: Element | None = None
    """The field that takes the text of an editor; at its point may be a part of its text."""


async def _write_field(tab: Tab, element: PageElement, field: Field, call: tools.WriteElement) -> _Written:
    """Write into a plain field that has the focus. Raises ValueError if it does not take such a text."""
    lines = call.text.replace("\r\n", "\n").replace("\r", "\n")  # Playwright presses Enter for a carriage return
    text = lines if field.lines else " ".join(call.text.splitlines())
    if field.picked:
        await element.fill(field_value(field.picked, text))
    else:
        await _type(tab, field, text, call.clear)
    expected = text if call.clear or field.picked else (field.content or "") + text
    try:
        actual = await element.value()
    except UnknownElementError:
        return _Written(None, field.lines, lost=True)
    return _Written(call.text if actual == expected else actual, field.lines)


async def _write_editor(tab: Tab, call: tools.WriteElement) -> _Written:
    """Write into an editor that has the focus, or whose frame has it, as `write` does."""
    frame, focus = await focused_element(tab, "hold")
    if focus is None or not focus.editor or focus.frozen:
        raise UnknownElementError(f"element {call.element} takes no text")
    text = taken_text(focus, call.text)
    await enter(tab, frame, focus, text, call.clear)
    actual = await content(tab, frame, focus, text, call.clear)
    for _ in range(DRAWING_LOOKS):
        if actual is None or actual == text:
            break
        await asyncio.sleep(DRAWING_S)
        actual = await content(tab, frame, focus, text, call.clear)
    return _Written(
        call.text if actual == text else actual,
        focus.lines,
        lost=actual is None and focus.value is not None,
        editor=focus.element,
    )


async def _type(tab: Tab, field: Field, text: str, clear: bool) -> None:
    """Type into the focused field. Like a person's, the keys go to what has the focus, also if it was replaced."""
    keyboard = tab.page.keyboard
    if clear and field.filled:
        await keyboard.press("Delete")
    elif not clear and field.filled:
        await keyboard.press("Control+End")
    if len(text) > TYPED_KEY_BY_KEY:
        await keyboard.insert_text(text)
        return
    for index, line in enumerate(text.split("\n")):
        if index:
            await keyboard.insert_text("\n")
        await keyboard.type(line)


async def _press_element(session: ActingSession, call: tools.PressElement) -> str:
    try:
        keys = normalise_keys(call.keys)
    except ValueError as error:
        return feedback.failed("press_element", error)
    element = PageElement(session.tabs.active, call.element)
    async with ObservedCall(session) as observed, input_limit(session):
        if not await element.focus():
            raise UnknownElementError(f"element {call.element} does not take the focus")
        await press(observed.tab, keys)
    return feedback.press_keys(keys, observed.effect)


async def _select_option(session: ActingSession, call: tools.SelectOption) -> str:
    element = PageElement(session.tabs.active, call.element)
    async with ObservedCall(session) as observed:
        choice = await element.choose(call.option)
        if choice.frozen:
            raise UnknownElementError(f"element {call.element}, or this option of it, is disabled")
        if choice.chosen is None:
            reason = no_option(call.option, choice.near, session.names_options)
            raise UnknownElementError(f"element {call.element} {reason}")
    effect = observed.effect
    return feedback.choose(
        choice.chosen, choice.selected, choice.multiple, choice.kept or bool(effect.navigated_to), effect
    )


async def drag(tab: Tab, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag from one point to another, in CSS pixels of the viewport."""
    mouse = tab.page.mouse
    await mouse.move(*start)
    await mouse.down()
    await mouse.move(*end, steps=8)
    await mouse.up()


async def press(tab: Tab, keys: list[str]) -> None:
    """Press keys in Playwright's names, one after the other."""
    keyboard = tab.page.keyboard
    for key in keys:
        if not tab.clipboard.is_used_by(key):
            await (keyboard.insert_text(key) if is_typed(key) else keyboard.press(key))
            continue
        sessions = await tab.frame_sessions()
        await tab.clipboard.before_keys(sessions, key)
        await keyboard.press(key)
        await tab.clipboard.after_keys(sessions, key)


async def _point_of(session: ActingSession, shown: str) -> tuple[tuple[float, float], tuple[int, int]]:
    """A point of an element that nothing covers: in CSS pixels of the viewport, and on the 0-1000 scale."""
    tab = session.tabs.active
    place = await PageElement(tab, shown).place()
    if not _is_in_view(tab, place):
        raise UnknownElementError(f"element {shown} is outside of the view and cannot be scrolled into it")
    pixels, point = _in_viewport(session, place.x, place.y)
    if not place.own:
        cover = (await tab.mark(pixels)).target
        raise UnknownElementError(f"element {shown} is covered by {cover.element if cover else 'another element'}")
    return pixels, point


def _is_in_view(tab: Tab, place: Place) -> bool:
    return 0 <= place.x < tab.viewport[0] and 0 <= place.y < tab.viewport[1]


def _in_viewport(session: ActingSession, x: float, y: float) -> tuple[tuple[float, float], tuple[int, int]]:
    """A point in CSS pixels, moved into the viewport, and the same point on the 0-1000 scale."""
    width, height = session.tabs.active.viewport
    point, pixels, _ = to_viewport(session, x / width * tools.SCALE, y / height * tools.SCALE)
    return pixels, point


async def _go_forward(session: ActingSession, _: tools.GoForward) -> str:
    index, entries = await session.tabs.active.history()
    if index + 1 >= entries:
        return feedback.failed("go_forward", "there is no next page")
    async with ObservedCall(session) as observed:
        await navigate(session, observed.tab.page.go_forward)
    return feedback.succeed("`go_forward` executed.", observed.navigation)


ELEMENT_ACTIONS: Actions = {
    tools.ClickElement: _click_element,
    tools.HoverElement: _hover_element,
    tools.DragElement: _drag_element,
    tools.PressElement: _press_element,
    tools.WriteElement: _write_element,
    tools.SelectOption: _select_option,
    tools.GoForward: _go_forward,
}
