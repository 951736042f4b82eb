"""A field that leaves the page while it is written into costs feedback, not the episode and not the step's time."""

from __future__ import annotations

import asyncio
import time

import pytest

from components.browser import BrowserPool
from components.browser.tools import ALL_TOOLS, check_call
from tests.browser.conftest import PARAMS, task

FIELD = '<div id=place><input aria-label=Name value=old oninput="{}"></div>'
REPLACES = "this.parentNode.innerHTML = '<input aria-label=Name id=new>'; document.querySelector('#new').focus()"
REMOVES = "this.remove()"
LEAVES = "location.href = '/lost-next'"


@pytest.fixture
def write_into(pages):
    """`write_into(oninput, text)`: the step's result, the seconds that it took, and the value of a new field."""

    def write(oninput: str, text: str, **arguments: object):
        pages.add("/lost-next", "<h1>next</h1>")
        url = pages.add("/lost", FIELD.format(oninput))
        call = check_call("write_element", {"element": "1", "text": text, **arguments}, ALL_TOOLS)

        async def scenario():
            async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
                first = await session.start(task(url))
                assert '[1] textbox "Name"' in first.text
                began = time.monotonic()
                result = await session.step([call])
                took_s = time.monotonic() - began
                new = session.page.locator("#new")
                return result, took_s, await new.input_value() if await new.count() else None

        return asyncio.run(scenario())

    return write


def test_typing_goes_on_in_the_field_that_replaces_the_first(write_into):
    result, took_s, value = write_into(REPLACES, "tea")
    assert value == "tea"
    assert result.feedback[0].startswith('Succeed: `write_element` typed "tea" into <input> "Name".')
    assert result.feedback[0].endswith("Note: the field left the page while it was written into.")
    assert took_s < 8


@pytest.mark.parametrize("text", ["tea", "tea " * 100])
def test_a_field_that_typing_removes_is_said_within_seconds(write_into, text):
    result, took_s, _ = write_into(REMOVES, text)
    assert "left the page" in result.feedback[0] or result.feedback[0].startswith("Failed: `write_element`")
    assert "textbox" not in result.observation.text
    assert took_s < 8


@pytest.mark.parametrize("submit", [False, True])
def test_typing_that_navigates_says_where_to(write_into, pages, submit):
    result, took_s, _ = write_into(LEAVES, "tea", submit=submit)
    assert f"Page navigated to {pages.origin}/lost-next." in result.feedback[0]
    assert took_s < 8
