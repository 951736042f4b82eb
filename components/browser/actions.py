"""Executing one tool call on the current tab and saying what came of it (OpenWebRL, appendices A.2 and A.3).

Each action notes the state before, acts, looks again once the page is quiet, and composes one line. What a page or the
browser refuses becomes a `Failed:` line; only a dead browser or a page that answers nothing is raised.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from components.browser import feedback, tools
from components.browser.element_actions import ELEMENT_ACTIONS, TYPED_KEY_BY_KEY, UnknownElementError
from components.browser.errors import SandboxError
from components.browser.tab import translate
from components.browser.watch import Tabs, Watch, element_of, navigation_ms, place
from components.records import ToolCall


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
    point, pixels, clamped = place(tabs, call.x, call.y)
    async with Watch(tabs, pixels) as watch:
        await watch.tab.page.mouse.click(
            *pixels, button=call.button, click_count=2 if call.click_type == "double" else 1
        )
    return feedback.click(watch.target, point, watch.effect, watch.state, clamped)


async def _hover(tabs: Tabs, call: tools.Hover) -> str:
    point, pixels, clamped = place(tabs, call.x, call.y)
    async with Watch(tabs, pixels) as watch:
        await watch.tab.page.mouse.move(*pixels)
    return feedback.hover(watch.target, point, watch.effect, clamped)


async def _drag(tabs: Tabs, call: tools.Drag) -> str:
    start, start_pixels, clamped_start = place(tabs, call.x1, call.y1)
    end, end_pixels, clamped_end = place(tabs, call.x2, call.y2)
    async with Watch(tabs, start_pixels) as watch:
        mouse = watch.tab.page.mouse
        await mouse.move(*start_pixels)
        await mouse.down()
        await mouse.move(*end_pixels, steps=8)
        await mouse.up()
    return feedback.drag(start, end, watch.effect, clamped_start or clamped_end)


# ---- keyboard -------------------------------------------------------------------------------------------------------


async def _write(tabs: Tabs, call: tools.Write) -> str:
    tab = tabs.tabs[tabs.active]
    focus = (await tab.ask(op="clear"))["focus"]
    frame = tab.page.main_frame
    if focus is not None and focus["tag"] == "iframe":
        frame = await tab.focused_frame()
        focus = (await tab.ask_frame(frame, op="clear"))["focus"]
    if focus is None:
        return feedback.failed("write", "no field has the focus; click a field first")
    target = element_of(focus)
    if focus["select"]:
        if not (await tab.ask_frame(frame, op="choose", text=call.text))["chosen"]:
            return feedback.failed("write", f'{target} has no option "{call.text[:60]}"')
    elif focus["frozen"]:
        return feedback.failed("write", f"{target} is disabled or read-only")
    elif not focus["editable"]:
        return feedback.failed("write", f"the focus is on {target}, which takes no text; click a field first")
    async with Watch(tabs) as watch:
        keyboard = tab.page.keyboard
        if focus["fill"]:
            await frame.locator(":focus").fill(call.text, timeout=tabs.params.step_timeout_s * 500)
        elif not focus["select"]:
            if focus["value"]:
                await keyboard.press("Delete")
            if len(call.text) <= TYPED_KEY_BY_KEY:
                await keyboard.type(call.text)
            else:
                await keyboard.insert_text(call.text)
    after = watch.focus
    if after is not None and after["tag"] == "iframe":
        after = (await tab.ask_frame(await tab.focused_frame(), op="focus"))["focus"]
    actual = after["value"] if after and element_of(after).tag == target.tag and not focus["select"] else None
    if actual is not None and focus["secret"] and actual != call.text:
        actual = "*" * len(actual)
    return feedback.write(target, call.text, actual, watch.effect)


async def _press_keys(tabs: Tabs, call: tools.PressKeys) -> str:
    keys = tools.normalise_keys(call.keys)
    async with Watch(tabs) as watch:
        for key in keys:
            await watch.tab.page.keyboard.press(key)
    return feedback.press_keys(keys, watch.effect)


# ---- navigation -----------------------------------------------------------------------------------------------------


async def _scroll(tabs: Tabs, call: tools.Scroll) -> str:
    at, clamped = None, False
    if call.x is not None and call.y is not None:
        _, at, clamped = place(tabs, call.x, call.y)
    tab = tabs.tabs[tabs.active]
    before, requests = await tab.mark(), tab.requests
    moved = (await tab.ask(op="scroll", at=at, direction=call.direction, amount=call.amount))["moved"]
    await tabs.look(tab, before, requests)
    return feedback.scroll(call.direction, call.amount, moved, clamped)


async def _goto_url(tabs: Tabs, call: tools.GotoUrl) -> str:
    url = tabs.absolute(call.url)
    if urlsplit(url).scheme not in ("http", "https") and url != "about:blank":
        return feedback.failed("goto_url", f"only http and https pages can be opened, not {call.url}")
    async with Watch(tabs) as watch:
        response = await watch.tab.page.goto(url, wait_until="domcontentloaded", timeout=navigation_ms(tabs))
    if response is not None and (refusal := tabs.refusal(response)):
        return feedback.failed("goto_url", refusal)
    return feedback.succeed("`goto_url` executed.", f"Page navigated to {watch.url}.", *watch.effect.asides)


async def _go_back(tabs: Tabs, _: tools.GoBack) -> str:
    index, _entries = await tabs.tabs[tabs.active].history()
    if index == 0:
        return feedback.failed("go_back", "there is no previous page")
    async with Watch(tabs) as watch:
        await watch.tab.page.go_back(wait_until="domcontentloaded", timeout=navigation_ms(tabs))
    return feedback.succeed("`go_back` executed.", f"Page navigated to {watch.url}.", *watch.effect.asides)


async def _wait(tabs: Tabs, call: tools.Wait) -> str:
    async with Watch(tabs) as watch:
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
    tools.Wait: _wait,
    tools.NewTab: _new_tab,
    tools.SwitchTab: _switch_tab,
    tools.CloseTab: _close_tab,
    tools.Done: _done,
    **ELEMENT_ACTIONS,
}
