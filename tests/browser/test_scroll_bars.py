"""Scroll bars are in screenshots (`browser.scroll_bars`), and points stay those of the whole viewport beside them."""

from __future__ import annotations

import asyncio
import io

import numpy as np
import pytest
from PIL import Image

from components.browser import BrowserPool, check_call, parse_elements
from tests.browser.conftest import PARAMS, task

pytestmark = pytest.mark.slow

TALL = "<div style='height:3000px'></div>"
SCROLLER = f"<div id=box style='width:400px;height:200px;overflow:auto;background:#fff'>{TALL}</div>"


def look(url: str, scroll_bars: bool, calls: tuple = (), expression: str = "innerWidth"):
    """The last observation, the feedback, and an expression's value, in a browser with or without bars."""

    async def episode():
        params = PARAMS.model_copy(update={"scroll_bars": scroll_bars, "concurrency": 1})
        async with BrowserPool(params, text="elements") as pool, pool.session() as session:
            observation, lines = await session.start(task(url)), []
            for call in calls:
                step = await session.step([call])
                observation, lines = step.observation, [*lines, *step.feedback]
            return observation, lines, await session.page.evaluate(expression)

    return asyncio.run(episode())


def pixels(observation) -> np.ndarray:
    """Rows, columns and channels of a screenshot."""
    return np.asarray(Image.open(io.BytesIO(observation.screenshot.data)).convert("RGB"))


@pytest.mark.parametrize(("scroll_bars", "width"), [(True, 15), (False, 0)])
def test_the_bar_of_an_inner_scroller_is_in_the_screenshot(pages, scroll_bars, width):
    observation, _, shown = look(pages.add("/inner", SCROLLER), scroll_bars, (), "box.offsetWidth - box.clientWidth")
    drawn = (pixels(observation)[:200, :400] != 255).any(axis=(0, 2))  # columns that are not white
    assert (shown, drawn.sum(), drawn[:385].any()) == (width, width, False)


@pytest.mark.parametrize(("scroll_bars", "width"), [(True, 785), (False, 800)])
def test_the_viewport_has_its_size_with_the_bar(pages, scroll_bars, width):
    values = "[innerWidth, document.documentElement.clientWidth]"
    observation, _, shown = look(pages.add("/tall", TALL), scroll_bars, (), values)
    assert shown == [800, width]
    assert observation.viewport == (800, 600)
    assert pixels(observation).shape == (600, 800, 3)


@pytest.mark.slow
def test_points_of_the_list_are_hit_beside_a_bar(pages):
    style = "position:absolute;right:0;top:100px;width:60px;height:30px"
    button = f"<button style='{style}' onclick=\"document.title='at '+event.clientX\">edge</button>"
    url = pages.add("/edge", button + TALL)
    observation, _, box = look(url, True, (), "document.querySelector('button').getBoundingClientRect().right")
    [line] = parse_elements(observation.text)
    assert (box, line.name) == (785, "edge")
    _, lines, title = look(url, True, (check_call("click", {"x": line.x, "y": line.y}),), "document.title")
    assert title in ("at 754", "at 755", "at 756"), lines  # the middle of 725 to 785


def test_what_a_bar_covers_has_no_line(pages):
    covered = "<button style='position:absolute;left:0;top:586px;width:60px;height:14px'>under</button>"
    wide = "<div style='width:2000px;height:300px'></div>"
    url = pages.add("/wide", covered + wide)
    assert [('"under"' in look(url, scroll_bars)[0].text) for scroll_bars in (True, False)] == [False, True]


@pytest.mark.parametrize("scroll_bars", [True, False])
def test_the_list_says_how_far_pages_and_areas_continue(pages, scroll_bars):
    observation, _, _ = look(pages.add("/both", SCROLLER + TALL), scroll_bars)
    assert observation.text.splitlines() == [
        "(more below: 4.3 screens)",
        "(in the area at 250 167, more below: 14.0 screens)",
    ]


def test_a_click_below_the_thumb_of_a_bar_scrolls_by_a_page(pages):
    call = check_call("click", {"x": 991, "y": 560})  # pixel 793: the bar begins at 785
    _, lines, top = look(pages.add("/click", TALL), True, (call,), "scrollY")
    assert 500 <= top <= 600, lines
