"""With `quiet_ms: 0` frames of other sites and canvases are watched, too."""

from __future__ import annotations

import pytest

from components.browser import check_call
from components.browser.feedback import CHANGED, NO_EFFECT
from tests.browser.conftest import PARAMS

BUTTON = "<button style='position:absolute;left:360px;top:285px;width:80px;height:30px' onclick='{}'>Go</button>"
FRAME = "<iframe style='position:absolute;left:0;top:0;width:800px;height:600px;border:0' src='{}'></iframe>"
CANVAS = "<canvas id=c width=100 height=100></canvas>"
DRAWS = 'c.getContext("2d").fillRect(0,0,50,50)'


@pytest.fixture(scope="module")
def visit_params():
    return PARAMS.model_copy(update={"quiet_ms": 0})


@pytest.fixture
def tell(pages, visit):
    """What the feedback of a click on the middle of a page says after `executed.`"""

    def run(body):
        async def click(session, _):
            await session.page.wait_for_load_state("load")
            (line,) = (await session.step([check_call("click", {"x": 500, "y": 500})])).feedback
            return line.partition("executed. ")[2]

        return visit(pages.add("/at-once", body), click)

    return run


@pytest.mark.parametrize(("action", "note"), [("document.body.append(1)", CHANGED), ("", NO_EFFECT)])
def test_a_frame_of_another_site_is_watched(tell, pages, action, note):
    inner = pages.add("/inner", BUTTON.format(action)).replace("127.0.0.1", "localhost")
    assert tell(FRAME.format(inner)) == note


@pytest.mark.parametrize(("action", "note"), [(DRAWS, CHANGED), ("", NO_EFFECT)])
def test_a_canvas_is_watched(tell, action, note):
    assert tell(CANVAS + BUTTON.format(action)) == note


def test_more_frames_in_view_than_are_watched_are_unknown(tell, pages):
    inner = pages.add("/small", "<p>small</p>").replace("127.0.0.1", "localhost")
    small = f"<iframe style='width:60px;height:60px' src='{inner}'></iframe>"
    note = "Note: no navigation or new tab detected; whether a frame of another site changed is unknown."
    assert tell(small * 9 + BUTTON.format("")) == note
