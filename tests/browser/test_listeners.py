"""Elements that only a listener makes controls have lines and can be pressed."""

from __future__ import annotations

import itertools

import pytest

from components.browser import check_call, parse_elements
from components.browser.listeners import MAX_ASKED

_COUNT = itertools.count()
BOX = "style='width:120px;height:30px;border:1px solid'"
LISTEN = """<script>function listen(root, event) { for (const el of root.querySelectorAll('.on'))
el.addEventListener(event, () => { top.document.title = `pressed ${el.innerText}`; }); }</script>"""


@pytest.fixture
def listed(pages, visit):
    """`listed(body, event)`: the names of the lines of a page, whose elements of the class `on` listen."""

    def run(body: str, event: str = "click") -> list[str]:
        async def reading(session, seen):
            return [line.name for line in parse_elements(seen.text)]

        html = f"{LISTEN}{body}<script>listen(document, '{event}')</script>"
        return visit(pages.add(f"/listeners{next(_COUNT)}", html), reading)

    return run


@pytest.mark.parametrize("event", ["click", "mousedown", "pointerup"])
def test_what_is_drawn_like_a_control_and_listens_has_a_line(listed, event):
    plain = "<p class=on>plain</p><span class=on style='background:#eee'>grey</span>"
    assert listed(f"<div class=on {BOX}>on</div><div {BOX}>off</div>{plain}", event) == ["on", "grey"]


def test_other_listeners_make_no_line(listed):
    assert listed(f"<div class=on {BOX}>on</div>", "mousemove") == []


def test_what_holds_controls_or_several_parts_has_no_line_of_its_own(listed):
    several = f"<div class=on {BOX}><p>one</p><p>two</p></div>"
    assert listed(f"{several}<div class=on {BOX}>text <button>inside</button></div>") == ["inside"]


def test_parts_of_a_listed_control_have_no_lines(listed):
    inner = "<b class=on style='background:#ddd'>bold</b>"
    assert listed(f"<button>press {inner}</button><div class=on {BOX}>on {inner}</div>") == ["press bold", "on bold"]


def test_more_controls_than_one_round_asks_about_all_have_lines(listed):
    boxes = "".join(f"<div class=on style='float:left;border:1px solid'>{number}</div>" for number in range(80))
    assert MAX_ASKED < 80
    assert listed(boxes) == [str(number) for number in range(80)]


def test_silent_elements_alike_leave_questions_for_others(listed):
    cells = "<div class='cell' style='float:left;border:1px solid'>cell</div>" * 150
    assert listed(f"{cells}<div class='on tab' style='float:left;border:1px solid'>tab</div>") == ["tab"]


@pytest.mark.parametrize("attribute", ["", "sandbox=allow-scripts"])
def test_controls_of_frames_have_lines(listed, pages, attribute):
    html = f"{LISTEN}<div class=on {BOX}>framed</div><script>listen(document, 'click')</script>"
    inner = pages.add(f"/listeners-inner{next(_COUNT)}", html)
    assert listed(f"<iframe {attribute} style='width:300px;height:100px' src='{inner}'></iframe>") == ["framed"]


@pytest.mark.parametrize("mode", ["open", "closed"])
def test_controls_of_shadow_roots_have_lines(listed, mode):
    fill = f"const root = h.attachShadow({{mode: '{mode}'}}); root.innerHTML = `<div class=on {BOX}>rooted</div>`"
    assert listed(f"<div id=h></div><script>{fill}; listen(root, 'click')</script>") == ["rooted"]


def test_a_control_is_pressed_and_one_that_listens_later_is_listed_then(pages, visit):
    late = "d.onpointerdown = () => setTimeout(() => late.addEventListener('click', () => {}), 10)"
    body = f"<div id=d {BOX}>first</div><div id=late {BOX}>late</div><script>{late}</script>"

    async def pressing(session, seen):
        (line,) = parse_elements(seen.text)
        await session.step([check_call("click", {"x": line.x, "y": line.y})])
        result = await session.step([check_call("wait", {"seconds": 1})])
        return line.name, [one.name for one in parse_elements(result.observation.text)]

    assert visit(pages.add("/late", body), pressing) == ("first", ["first", "late"])
