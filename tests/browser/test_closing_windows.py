"""Windows that pages open and close at any moment: the feedback says so, and the episode goes on (800 × 600)."""

from __future__ import annotations

import asyncio

import pytest

from components.browser import BrowserPool, check_call
from tests.browser.conftest import PARAMS, task

pytestmark = pytest.mark.slow

BUTTON = '<button style="position:absolute;left:{x}px;top:285px;width:80px;height:30px" onclick="{js}">{name}</button>'
CENTRE, RIGHT = (check_call("click", {"x": x, "y": 500}) for x in (500, 750))
OPENS = BUTTON.format(x=360, js="w = window.open('/window')", name="Log in")
CLOSES = BUTTON.format(x=560, js="w.close()", name="Cancel")
ALLOWS = BUTTON.format(x=360, js="{}window.close()", name="Allow")


@pytest.fixture
def site(pages):
    """`site(opener, window)`: the address of a page that opens `/window`."""

    def serve(opener: str = OPENS + CLOSES, window: str = "the window", path: str = "/opener") -> str:
        pages.add("/window", window, title="window")
        pages.add("/other", "the other window", title="other")
        return pages.add(path, opener, title="opener")

    return serve


def lines_of(result) -> str:
    return " | ".join(result.feedback)


def titles(observation) -> list[tuple[str, bool]]:
    return [(tab.title, tab.active) for tab in observation.tabs]


def test_a_login_window_that_closes_itself_returns_to_its_opener(site, visit):
    url = site(window=ALLOWS.format("opener.document.body.append('logged in'); "))

    async def body(session, _):
        opened = await session.step([CENTRE])
        closed = await session.step([CENTRE])
        after = await session.step([check_call("wait", {"seconds": 0})])
        return opened, closed, after, await session.page.inner_text("body")

    opened, closed, after, text = visit(url, body)
    assert titles(opened.observation) == [("opener", False), ("window", True)]
    assert f"The tab was closed. Tab 0 ({url}) is active." in lines_of(closed)
    assert closed.feedback[0].startswith("Succeed: `click`")
    assert titles(closed.observation) == [("opener", True)]
    assert "closed" not in lines_of(after)
    assert "logged in" in text


def test_a_window_that_its_opener_closes_is_said_to_be_closed(site, visit, pages):
    url = site()

    async def body(session, _):
        await session.step([CENTRE, check_call("switch_tab", {"index": 0})])
        return await session.step([RIGHT])

    closed = visit(url, body)
    assert f"Tab 1 ({pages.origin}/window) was closed." in lines_of(closed)
    assert titles(closed.observation) == [("opener", True)]


@pytest.mark.slow
def test_a_call_on_a_window_that_closed_meanwhile_fails_and_goes_on(site, visit):
    url = site(window="<script>setTimeout(() => close(), 1500)</script>the window")

    async def body(session, _):
        opened = await session.step([CENTRE])
        await asyncio.sleep(2.5)
        return opened, await session.step([CENTRE]), await session.step([RIGHT])

    opened, failed, after = visit(url, body)
    assert len(opened.observation.tabs) == 2
    assert failed.feedback[0].startswith("Failed: `click` execution failed: the tab was closed before the call.")
    assert f"Tab 0 ({url}) is active." in failed.feedback[0]
    assert titles(failed.observation) == [("opener", True)]
    assert after.feedback[0].startswith('Succeed: `click` on <button> "Cancel"')


@pytest.mark.parametrize("delay_ms", [0, 20, 100, 300])
def test_a_window_that_closes_during_a_step_does_not_end_the_episode(site, visit, delay_ms):
    window = ALLOWS.format(f"document.body.append('x'); setTimeout(() => window.close(), {delay_ms}); 0 && ")
    url = site(window=window)

    async def body(session, _):
        await session.step([CENTRE])
        result = await session.step([CENTRE, check_call("wait", {"seconds": 1})])
        return result, await session.step([RIGHT])

    result, after = visit(url, body)
    assert "closed" in lines_of(result)
    assert titles(after.observation) == [("opener", True)]
    assert after.feedback[0].startswith("Succeed: `click`")


def test_a_window_that_closes_at_once_is_no_tab(site, visit):
    url = site(BUTTON.format(x=360, js="window.open('/window').close()", name="Go"))

    async def body(session, _):
        return await session.step([CENTRE]), await session.step([CENTRE])

    first, second = visit(url, body)
    assert titles(first.observation) == titles(second.observation) == [("opener", True)]
    assert all(result.feedback[0].startswith("Succeed: `click`") for result in (first, second))


def test_a_window_that_opens_at_load_is_a_tab_behind_the_start_page(site, visit, pages):
    url = site("<script>window.open('/window')</script>" + BUTTON.format(x=360, js="window.open('/other')", name="Go"))

    async def body(session, observation):
        return observation, await session.step([CENTRE])

    first, clicked = visit(url, body)
    assert titles(first) == [("opener", True), ("window", False)]
    assert f"New tab 2 opened ({pages.origin}/other) and is active." in lines_of(clicked)
    assert titles(clicked.observation) == [("opener", False), ("window", False), ("other", True)]


def test_a_middle_click_opens_a_tab_in_the_background(site, visit, pages):
    url = site('<a href="/window" style="position:absolute;left:390px;top:290px">a link</a>' + CLOSES)

    async def body(session, _):
        middle = check_call("click", {"x": 500, "y": 500, "button": "middle"})
        opened = await session.step([middle])
        return opened, await session.step([check_call("switch_tab", {"index": 1})])

    opened, switched = visit(url, body)
    assert f"New tab 1 opened ({pages.origin}/window) in the background." in lines_of(opened)
    assert titles(opened.observation) == [("opener", True), ("window", False)]
    assert titles(switched.observation) == [("opener", False), ("window", True)]


def test_of_two_windows_the_one_that_arrives_last_is_shown(site, visit):
    url = site(BUTTON.format(x=360, js="window.open('/window'); window.open('/other')", name="Go"))

    async def body(session, _):
        return await session.step([CENTRE])

    opened = visit(url, body)
    (_, second, third) = opened.observation.tabs
    assert {second.title, third.title} == {"window", "other"}
    assert f"New tab 1 opened ({second.url}) in the background." in lines_of(opened)
    assert f"New tab 2 opened ({third.url}) and is active." in lines_of(opened)
    assert third.active


def test_an_episode_whose_only_tab_closes_goes_on_on_a_blank_one(pages, visit):
    async def body(session, _):
        await session.step([check_call("new_tab", {}), check_call("switch_tab", {"index": 0})])
        pages.add("/closes", "<script>setTimeout(() => close(), 300)</script>")
        opened = await session.step([check_call("close_tab", {}), check_call("wait", {"seconds": 0})])
        await session.page.close()
        return opened, await session.step([CENTRE]), await session.step([check_call("goto_url", {"url": start})])

    start = pages.add("/only", "only", title="only")
    _, failed, after = visit(start, body)
    assert "Tab 0 (about:blank) is active." in failed.feedback[0]
    assert titles(after.observation) == [("only", True)]


def test_a_tab_closed_by_a_page_cannot_be_switched_to(site, visit):
    url = site(window="<script>setTimeout(() => close(), 700)</script>the window")

    async def body(session, _):
        await session.step([CENTRE, check_call("switch_tab", {"index": 0})])
        await asyncio.sleep(1.5)
        return await session.step([check_call("switch_tab", {"index": 1})])

    result = visit(url, body)
    assert result.feedback[0].startswith("Failed: `switch_tab` execution failed: tab 1 was closed by a page.")
    assert titles(result.observation) == [("opener", True)]


@pytest.mark.slow
def test_an_episode_with_closing_windows_is_not_run_again(site, pages):
    """A closed window is no death of the browser: the context stays usable to the end."""
    url = site(window=ALLOWS.format(""))

    async def scenario():
        async with BrowserPool(PARAMS, text="elements") as pool, pool.session() as session:
            await session.start(task(url))
            for _ in range(3):
                await session.step([CENTRE])
                await session.step([CENTRE])
            return session.broken, session.health

    assert asyncio.run(scenario()) == (False, {})


def test_a_document_without_any_element_is_observed(pages, visit):
    """`open()` in an inline handler is `document.open()`, which removes the whole document."""

    async def body(session, _):
        return await session.step([CENTRE]), await session.step([CENTRE])

    for result in visit(pages.add("/emptied", BUTTON.format(x=360, js="open()", name="Go")), body):
        assert result.feedback[0].startswith("Succeed: `click`")
