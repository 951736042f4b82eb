"""Links whose own box has no area: their content floats or is positioned, or they are drawn as contents."""

from __future__ import annotations

import asyncio
import re

import pytest

from components.browser import BrowserPool, check_call, parse_elements
from components.browser.tools import ALL_TOOLS
from tests.browser.conftest import PARAMS, task

pytestmark = pytest.mark.slow

IMAGE = "<img alt=Tent src='data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22/>' style='{}'>"
FILL = IMAGE.format("position:absolute;inset:0;width:100%;height:100%")
FLOAT = IMAGE.format("float:left;width:200px;height:150px")
PLAIN = IMAGE.format("display:block;width:200px;height:150px")
CARD = "<div style='position:relative;width:200px;height:150px;margin:{}'>{}</div>"
SHAPES = {
    "filled": f"<a href=#tent>{FILL}</a>",
    "filled through a span": f"<a href=#tent><span>{FILL}</span></a>",
    "floated": f"<a href=#tent>{FLOAT}</a>",
    "contents": f"<a href=#tent style='display:contents'>{PLAIN}</a>",
    "text as contents": "<a href=#tent style='display:contents'>Tent</a>",
    "button": f"<button onclick='location.hash=`tent`' style='display:contents'>{PLAIN}</button>",
}


@pytest.fixture(params=SHAPES)
def card(request, pages):
    """The address of a page with a link of one shape."""
    return pages.add("/card", CARD.format("60px", SHAPES[request.param]))


def test_a_link_without_a_box_has_a_line_and_is_clicked(visit, card):
    async def body(session, start):
        (element,) = parse_elements(start.text)
        result = await session.step([check_call("click", {"x": element.x, "y": element.y})])
        return element.name, result.observation.url

    assert visit(card, body) == ("Tent", f"{card}#tent")


def test_a_link_without_a_box_is_in_the_tree_and_is_clicked(card):
    async def episode():
        async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
            tree = (await session.start(task(card))).text
            (shown,) = re.findall(r"\[(\d+)\] (?:link|button)", tree)
            assert '"Tent"' in tree
            call = check_call("click_element", {"element": shown}, ALL_TOOLS)
            return (await session.step([call])).observation.url

    assert asyncio.run(episode()) == f"{card}#tent"


@pytest.mark.parametrize("style", ["margin-top:-500px", "display:none", "visibility:hidden", "opacity:0"])
def test_a_link_without_a_box_whose_content_is_not_seen_has_no_line(visit, pages, style):
    links = [SHAPES["filled"], SHAPES["floated"], SHAPES["contents"]]
    url = pages.add("/unseen", f"<div style='{style}'>{''.join(CARD.format(0, link) for link in links)}</div>")

    async def body(_, start):
        return start.text

    assert visit(url, body) == ""
