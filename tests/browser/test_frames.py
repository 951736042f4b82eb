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


@pytest.mark.slow
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


TRACKED = """<input type=date aria-label=Day id=day style="width:200px;height:40px"><b id=log>none</b><script>
const native = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
let tracked = '';
Object.defineProperty(day, 'value', { configurable: true, get() { return native.get.call(this); },
  set(value) { tracked = value; native.set.call(this, value); } });
day.addEventListener('input', () => { log.textContent = native.get.call(day) === tracked ? 'ignored' : 'heard'; });
</script>"""


def test_a_date_in_a_frame_is_set_behind_the_tracker_of_its_page(pages, visit):
    inner = pages.add("/tracked", TRACKED)
    url = pages.add("/outer", f'<iframe src="{inner}" style="border:0;width:400px;height:300px"></iframe>')

    async def body(session, _):
        await session.step(calls("2024-05-06", 20))
        return await session.page.frames[1].evaluate("[day.value, log.textContent]")

    assert visit(url, body) == ["2024-05-06", "heard"]


@pytest.mark.parametrize(
    "outer",
    [
        '<frameset cols="100%"><frame src="{}" frameborder=0 marginheight=0 marginwidth=0></frameset>',
        '<body style="margin:0"><object data="{}" type="text/html" style="width:400px;height:300px"></object></body>',
    ],
)
def test_frames_of_a_frameset_and_objects_are_written_into(pages, visit, outer):
    pages.pages["/frames"] = (200, "<!DOCTYPE html>" + outer.format(pages.add("/inner", INNER)), {})

    async def body(session, _):
        lines = (await session.step(calls("Bob", 20))).feedback
        return lines[1], await session.page.frames[1].evaluate("document.querySelector('input').value")

    line, value = visit(pages.origin + "/frames", body)
    assert (line, value) == ('Succeed: `write` typed "Bob" into <input> "Name".', "Bob")
