"""Executes one tool call on the active tab and reports its effect in one line (OpenWebRL, appendices A.2 and A.3).

Each action reads the state before, acts, reads the state again once the page is quiet, and composes one line. A refusal
by the page or the browser becomes a `Failed:` line. Only a dead browser and a page that does not answer raise errors.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from components.browser import feedback, tools
from components.browser.axtree_element import UnknownElementError
from components.browser.effects import (
    ActingSession,
    ObservedCall,
    UnansweredError,
    closed_tab,
    input_limit,
    navigate,
    to_viewport,
)
from components.browser.element_actions import ELEMENT_ACTIONS, Actions, click, drag, press
from components.browser.errors import EnvError, SandboxError
from components.browser.keys import normalise_keys
from components.browser.page_state import Aim
from components.browser.playwright_errors import ClosedError, translate
from components.browser.unopened import UNOPENED
from components.browser.uploads import FileChooser
from components.browser.writing import write
from components.records import ToolCall


async def execute(session: ActingSession, call: ToolCall) -> str:
    """Run one call and return its line of feedback.

    Raises:
        SandboxError: the browser or the renderer died.
        EnvError: the page does not answer any more.
    """
    if call.error is not None:
        return feedback.failed(call.name or "tool call", call.error)
    try:
        arguments = tools.parse_arguments(call.name, call.arguments)
    except ValueError as error:
        return feedback.failed(call.name, error)
    tab = session.tabs.active
    if tab.page.is_closed() and not isinstance(arguments, _WITHOUT_PAGE):
        effect = await closed_tab(session, tab)
        return feedback.failed(call.name, f"the tab was closed before the call. {effect}")
    try:
        notices = session.tabs.active.notices
        if notices.chooser is not None and isinstance(arguments, tools.Write | tools.WriteElement):
            return await _upload(session, notices.chooser, call.name, arguments.text)
        if not isinstance(arguments, tools.Wait):
            notices.chooser = None
        return await _ACTIONS[type(arguments)](session, arguments)
    except (UnknownElementError, UnansweredError) as error:
        return feedback.failed(call.name, error, tab.notices.take())
    except (PlaywrightError, EnvError) as error:
        if await session.tabs.lost(tab, error):
            return feedback.succeed(f"`{call.name}` executed.", str(await closed_tab(session, tab)))
        if isinstance(error, EnvError):
            raise
        if isinstance(translated := translate(error), SandboxError | ClosedError):
            raise translated from error
        if "net::" in str(translated):
            tab.notices.drop(UNOPENED)
        return feedback.failed(call.name, translated, tab.notices.take())


# ---- pointer --------------------------------------------------------------------------------------------------------


async def _click(session: ActingSession, call: tools.Click) -> str:
    point, pixels, clamped = to_viewport(session, call.x, call.y)
    return await click(session, call, pixels, point, clamped)


async def _hover(session: ActingSession, call: tools.Hover) -> str:
    point, pixels, clamped = to_viewport(session, call.x, call.y)
    async with ObservedCall(session, pixels, hovered=True) as observed, input_limit(session):
        await observed.tab.page.mouse.move(*pixels)
    return feedback.hover(observed.target, point, observed.effect, clamped)


async def _drag(session: ActingSession, call: tools.Drag) -> str:
    start, start_pixels, clamped_start = to_viewport(session, call.x1, call.y1)
    end, end_pixels, clamped_end = to_viewport(session, call.x2, call.y2)
    async with ObservedCall(session, start_pixels) as observed, input_limit(session):
        await drag(observed.tab, start_pixels, end_pixels)
    return feedback.drag(start, end, observed.effect, clamped_start or clamped_end)


async def _upload(session: ActingSession, chooser: FileChooser, tool: str, text: str) -> str:
    """Answer a file chooser with the files that a text names. It stays open if they cannot be chosen."""
    try:
        paths = chooser.uploads.paths(text, chooser.several)
    except ValueError as error:
        return feedback.failed(tool, error)
    session.tabs.active.notices.chooser = None
    is_gone = False
    async with ObservedCall(session) as observed, input_limit(session):
        try:
            await chooser.choose(paths)
        except PlaywrightError as error:
            reason = translate(error)
            is_frame_closed = isinstance(reason, ClosedError) and chooser.cdp is not observed.tab.cdp
            if isinstance(reason, SandboxError | ClosedError) and not is_frame_closed:
                raise
            is_gone = True
    if is_gone:
        missing = "the input that asked for a file is gone; click again what asks for it"
        return feedback.failed(tool, missing, observed.effect.notices)
    chosen = ", ".join(f'"{path.name}"' for path in paths)
    return feedback.succeed(f"`{tool}` chose {chosen}.", str(observed.effect))


# ---- keyboard -------------------------------------------------------------------------------------------------------


async def _press_keys(session: ActingSession, call: tools.PressKeys) -> str:
    try:
        keys = normalise_keys(call.keys)
    except ValueError as error:
        return feedback.failed("press_keys", error)
    async with ObservedCall(session) as observed, input_limit(session):
        await press(observed.tab, keys)
    return feedback.press_keys(keys, observed.effect)


# ---- navigation -----------------------------------------------------------------------------------------------------


async def _scroll(session: ActingSession, call: tools.Scroll) -> str:
    at, clamped = None, False
    if call.x is not None and call.y is not None:
        _, at, clamped = to_viewport(session, call.x, call.y)
    async with ObservedCall(session, at) as observed:
        tab = observed.tab
        aim = await tab.ask(Aim, op="aim", at=at, direction=call.direction, amount=call.amount)
        wheel = {"type": "mouseWheel", "x": aim.x, "y": aim.y, "deltaX": aim.dx, "deltaY": aim.dy}
        await tab.command("Input.dispatchMouseEvent", wheel)
    turned, effect = observed.wheel, observed.effect
    if not session.params.quiet_ms:  # small models were trained on scrolls that note no other change
        effect = replace(effect, changed=False)
    moved = turned is None or turned.moved  # a document that was replaced cannot be compared
    kept = feedback.unmoved(turned.opaque, turned.taken, effect.unwatched) if turned else ""
    stepped = feedback.stepped(*turned.stepped) if turned and turned.stepped else ""
    return " ".join(filter(None, [feedback.scroll(call.direction, call.amount, moved, clamped, effect, kept), stepped]))


async def _goto_url(session: ActingSession, call: tools.GotoUrl) -> str:
    url = session.absolute(call.url)
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        return feedback.failed("goto_url", f"{call.url} is no address")
    if scheme not in ("http", "https") and url != "about:blank":
        return feedback.failed("goto_url", f"only http and https pages can be opened, not {call.url}")
    async with ObservedCall(session) as observed:
        response = await navigate(session, partial(observed.tab.page.goto, url))
        if refusal := session.refusal(response) if response is not None else None:
            observed.tab.notices.drop(UNOPENED)
    if refusal:
        return feedback.failed("goto_url", refusal, observed.effect.notices)
    return feedback.succeed("`goto_url` executed.", observed.navigation)


async def _go_back(session: ActingSession, _: tools.GoBack) -> str:
    index, _entries = await session.tabs.active.history()
    if index == 0:
        return feedback.failed("go_back", "there is no previous page")
    async with ObservedCall(session) as observed:
        await navigate(session, observed.tab.page.go_back)
    return feedback.succeed("`go_back` executed.", observed.navigation)


async def _wait(session: ActingSession, call: tools.Wait) -> str:
    async with ObservedCall(session) as observed:
        seconds = min(call.seconds, session.calls_left_s / 2)  # a wait must leave time for further calls
        await asyncio.sleep(seconds)
    return feedback.succeed(f"`wait` {round(seconds, 1):g} s executed.", str(observed.effect))


# ---- tabs and the end -----------------------------------------------------------------------------------------------


async def _new_tab(session: ActingSession, _: tools.NewTab) -> str:
    return feedback.succeed(f"`new_tab` opened tab {await session.tabs.open()}.")


async def _switch_tab(session: ActingSession, call: tools.SwitchTab) -> str:
    if not 0 <= call.index < len(session.tabs):
        return feedback.failed("switch_tab", f"there is no tab {call.index}; tabs are 0 to {len(session.tabs) - 1}")
    if session.tabs[call.index].page.is_closed():
        return feedback.failed("switch_tab", f"tab {call.index} was closed by a page")
    await session.tabs.activate(call.index)
    return feedback.succeed(f"`switch_tab` switched to tab {call.index} ({session.tabs.active.page.url}).")


async def _close_tab(session: ActingSession, _: tools.CloseTab) -> str:
    if len(session.tabs) == 1:
        return feedback.failed("close_tab", "the last tab cannot be closed")
    closed = session.tabs.index
    await session.tabs.close_active()
    return feedback.succeed(
        f"`close_tab` closed tab {closed}. Tab {session.tabs.index} ({session.tabs.active.page.url}) is active."
    )


async def _done(session: ActingSession, call: tools.Done) -> str:
    if session.answer is None:
        session.answer = call.answer
    return feedback.done(call.answer)


_WITHOUT_PAGE = (tools.NewTab, tools.SwitchTab, tools.CloseTab, tools.Done)
"""Calls that need no page in the active tab."""

_ACTIONS: Actions = {
    tools.Click: _click,
    tools.Hover: _hover,
    tools.Drag: _drag,
    tools.Write: write,
    tools.PressKeys: _press_keys,
    tools.Scroll: _scroll,
    tools.GotoUrl: _goto_url,
    tools.GoBack: _go_back,
    tools.Wait: _wait,
    tools.NewTab: _new_tab,
    tools.SwitchTab: _switch_tab,
    tools.CloseTab: _close_tab,
    tools.Done: _done,
    **ELEMENT_ACTIONS,
}
