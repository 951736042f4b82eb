"""A frame of another site computes without end: a call that needs it fails with a sentence, and the episode goes on."""

from __future__ import annotations

import asyncio
import re

import pytest

from components.browser import BrowserPool, axtree_element, focused_frame
from components.browser.tools import ALL_TOOLS, check_call

from .conftest import PARAMS, task

FRAME = "position:absolute;left:0;top:0;width:400px;height:600px;border:0"
FIELD = "<input aria-label=Mail style='position:absolute;left:100px;top:285px;width:80px;height:30px'>"
BUTTON = "<button style='position:absolute;left:560px;top:285px;width:80px;height:30px' onclick='title=1'>Go</button>"
IN_FRAME = {"x": 175, "y": 500}
AFTERWARDS = check_call("click", {"x": 750, "y": 500}, ALL_TOOLS)
NOT_TAKEN = "the page or a frame in it did not take the input within 7 s."


@pytest.fixture
def told(pages, separate_renderers, monkeypatch):
    """The feedback of a call on a page with a hung frame whose field had the focus, and of a click on the page itself
    afterwards. A call without arguments gets the field's id."""
    monkeypatch.setattr(focused_frame, "PROBE_TIMEOUT_S", 1.0)
    monkeypatch.setattr(axtree_element, "PROBE_TIMEOUT_S", 1.0)

    def run(name, arguments=None):
        inner = pages.add("/hung-inner", FIELD).replace("127.0.0.1", "localhost")
        url = pages.add("/hung", f"<iframe style='{FRAME}' src='{inner}'></iframe>{BUTTON}")
        params = PARAMS.model_copy(update={"step_timeout_s": 14, "settle_ms": 500})

        async def episode():
            async with BrowserPool(params, text="axtree") as pool, pool.session() as session:
                await session.start(task(url))
                await session.page.wait_for_load_state("load")
                seen = (await session.step([check_call("click", IN_FRAME, ALL_TOOLS)])).observation.text
                (field,) = re.findall(r"\[(\w+)\] textbox", seen)
                hang = asyncio.create_task(session.page.frames[1].evaluate("setTimeout(() => { for (;;); }, 10)"))
                await hang
                await asyncio.sleep(0.3)
                given = {**(arguments or {}), **({"element": field} if name.endswith("_element") else {})}
                [line] = (await session.step([check_call(name, given, ALL_TOOLS)])).feedback
                return line, (await session.step([AFTERWARDS])).feedback[0]

        return asyncio.run(episode())

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("write", {"text": "ada"}, "the frame with the focus did not answer within 1 s."),
        ("click", IN_FRAME, NOT_TAKEN),
        ("click", {**IN_FRAME, "modifiers": ["ctrl"]}, NOT_TAKEN),
        ("hover", {"x": 100, "y": 100}, NOT_TAKEN),
        ("press_keys", {"keys": ["a"]}, NOT_TAKEN),
        ("click_element", {}, "the frame of element 2 did not answer within 1 s."),
        ("write_element", {"text": "ada"}, "the frame of element 2 did not answer within 1 s."),
    ],
)
def test_a_call_that_needs_a_hung_frame_fails_and_the_episode_goes_on(told, name, arguments, reason):
    line, afterwards = told(name, arguments)
    assert line == f"Failed: `{name}` execution failed: {reason}"
    assert afterwards.startswith('Succeed: `click` on <button> "Go" at (750, 500) executed.')
