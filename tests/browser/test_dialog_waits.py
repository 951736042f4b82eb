"""What a dialog's answer does is awaited as what any call does, however long the agent thinks about it."""

from __future__ import annotations

import asyncio
import re

import pytest

from components.browser import BrowserPool, axtree_element, check_call
from components.browser.tools import ALL_TOOLS

from .conftest import PARAMS, task

BUTTON = '<button style="position:absolute;left:360px;top:285px;width:80px;height:30px" onclick="{}">Go</button>'
ROW = "<p><a id=row href='#'>a row</a></p>"
CLICK = check_call("click", {"x": 500, "y": 500})
ENTER = check_call("press_keys", {"keys": ["enter"]})
REMOVES = "if (confirm('Delete?')) setTimeout(() => row.remove(), 300)"
OPENS = {
    "during the click": REMOVES,
    "while its effect is awaited": f"setTimeout(() => {{ {REMOVES} }}, 100)",
}


@pytest.fixture
def visit(pages):
    """`visit(body, steps)` runs `await steps(session)` on a page, in an episode that asks for answers."""

    def run(body, steps, text="elements", **params):
        async def episode():
            asking = PARAMS.model_copy(update={"dialogs": "ask", **params})
            async with BrowserPool(asking, text=text) as pool, pool.session() as session:
                await session.start(task(pages.add("/dialog-waits", body)))
                return await steps(session)

        return asyncio.run(episode())

    return run


@pytest.mark.parametrize("opens", OPENS)
@pytest.mark.parametrize("thinks_s", [0, 1.5], ids=["at once", "after the limit"])
def test_the_effect_of_an_answer_is_awaited(visit, opens, thinks_s):
    async def steps(session):
        asked = await session.step([CLICK])
        await asyncio.sleep(thinks_s)
        return asked, await session.step([ENTER])

    asked, answered = visit(ROW + BUTTON.format(OPENS[opens]), steps, settle_ms=1000)
    assert " and waits: " in asked.feedback[0]
    assert "a row" not in answered.observation.text
    assert answered.feedback[0].endswith("executed. The page changed.")


def test_an_element_tool_that_opens_a_dialog_waits_for_the_answer(visit, monkeypatch):
    """However long the agent thinks about it."""
    monkeypatch.setattr(axtree_element, "PROBE_TIMEOUT_S", 0.5)
    asks = "document.title = confirm('Empty the basket?')"
    body = f'<select aria-label=Size onchange="{asks}"><option>S<option>M</select>'

    async def steps(session):
        tree = (await session.step([check_call("wait", {"seconds": 0})])).observation.text
        (identifier,) = re.findall(r"\[(\w+)\].*Size", tree)
        call = check_call("select_option", {"element": identifier, "option": "M"}, ALL_TOOLS)
        asked = await session.step([call])
        await asyncio.sleep(1.5)
        return asked, await session.step([ENTER])

    asked, answered = visit(body, steps, text="axtree")
    assert "and waits" in asked.feedback[0]
    assert '`select_option` chose "M"' in answered.feedback[0]
    assert answered.observation.tabs[0].title == "true"


def test_a_navigation_is_awaited_however_long_the_agent_thinks(visit, pages):
    url = pages.add("/dialog-asks", "<script>document.title = confirm('Sure?')</script>")

    async def steps(session):
        asked = await session.step([check_call("goto_url", {"url": url})])
        await asyncio.sleep(2)  # longer than half of the step's limit
        return asked, await session.step([ENTER])

    asked, answered = visit("", steps, step_timeout_s=3)
    assert 'A dialog (confirm) asks "Sure?" and waits' in asked.feedback[0]
    assert "executed" in answered.feedback[0]
    assert answered.observation.tabs[0].title == "true"
