"""Windows of another size: points, lists and observations are those of the active tab."""

from __future__ import annotations

import io

from PIL import Image

from components.browser import check_call, parse_elements

OPEN = """<button style="position:absolute;left:360px;top:285px;width:80px;height:30px"
  onclick="window.open('/small', 'small', 'width=400,height=300')">Go</button>"""
SMALL = """<button style="position:absolute;left:300px;top:200px;width:80px;height:40px"
  onclick="document.title = 'pressed'">Press</button>"""


def test_a_small_window_is_seen_and_clicked_in_its_own_size(pages, visit):
    pages.add("/small", SMALL)

    async def steps(session, _):
        opened = (await session.step([check_call("click", {"x": 500, "y": 500})])).observation
        (button,) = parse_elements(opened.text)
        pressed = await session.step([check_call("click", {"x": button.x, "y": button.y})])
        corner = await session.step([check_call("hover", {"x": 1000, "y": 1000})])
        back = await session.step([check_call("switch_tab", {"index": 0})])
        return opened, (button.x, button.y), pressed, corner, back.observation

    opened, point, pressed, corner, back = visit(pages.add("/large", OPEN), steps)
    assert opened.viewport == Image.open(io.BytesIO(opened.screenshot.data)).size == (400, 300)
    assert point == (850, 733)
    assert pressed.observation.tabs[1].title == "pressed"
    assert corner.feedback[0].startswith("Succeed: `hover` on <body> at (1000, 1000)") or "<html>" in corner.feedback[0]
    assert back.viewport == (800, 600)
