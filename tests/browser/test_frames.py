"""Frames, of the same and of another origin: pointed at, written into, and said in the feedback."""

from __future__ import annotations

import pytest

from components.browser import check_call

INNER = """<body style="margin:0"><input aria-label=Name style="width:200px;height:40px;display:block">
<input type=date aria-label=Day style="width:200px;height:40px;display:block">
<select aria-label=Size style="width:200px;height:40px;display:block"><option>S<option>L</select>
<button style="width:200px;height:40px" onclick="document.title='x';this.textContent='pressed'">Go</button></body>"""


def calls(text: str, y: float) -> list:
    """A click into the frame at a height in pixels, and a text."""
    return [check_call("click", {"x": 125, "y": y / 600 * 1000}), check_call("write", {"text": text})]


@pytest.mark.parametrize("origin", ["same", "other"])
def test_a_field_in_a_frame_is_written_into(pages, visit, origin):
    inner = pages.add("/inner", INNER)
    src = inner if origin == "same" else inner.replace("127.0.0.1", "localhost")
    url = pages.add(f"/outer-{origin}", f'<iframe src="{src}" style="border:0;width:400px;height:300px"></iframe>')

    async def body(session, _):
        said = []
        for text, y in (("Bob", 20), ("2024-05-06", 60), ("L", 100)):
            said += (await session.step(calls(text, y))).feedback
        said += (await session.step([check_call("click", {"x": 125, "y": 140 / 600 * 1000})])).feedback
        frame = session.page.frames[1]
        values = await frame.evaluate("[...document.querySelectorAll('input, select')].map(el => el.value)")
        return said, values, await frame.evaluate("document.querySelector('button').textContent")

    said, values, button = visit(url, body)
    assert values == ["Bob", "2024-05-06", "L"]
    assert button == "pressed"
    assert said[1] == 'Succeed: `write` typed "Bob" into <input> "Name".'
    assert said[3].startswith('Succeed: `write` typed "2024-05-06" into <input> "Day".')
    assert said[5].startswith('Succeed: `write` typed "L" into <select> "Size".')
    clicked = '<input> "Name"' if origin == "same" else "<iframe>"
    assert said[0].startswith(f"Succeed: `click` on {clicked} at (")
