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


@pytest.mark.parametrize(
    ("inside", "names"),
    [
        ("<p>one</p><p>two</p>", []),
        ("text <button>inside</button>", ["inside"]),
        ("<ul><li style='cursor:pointer'>Alpha<li style='cursor:pointer'>Beta</ul>", ["Alpha", "Beta"]),
        ("Ticket 12 <span style='cursor:pointer'>x</span>", ["x"]),
        (
            "Read the <u style='color:#00f'></u><span style='color:#00f;text-decoration:underline'>terms</span>",
            ["terms"],
        ),
        ("both <b class=on style='background:#ddd'>inner</b>", ["inner"]),
    ],
)
def test_what_listens_around_controls_leaves_them_their_lines(listed, inside, names):
    assert listed(f"<div class=on style='width:300px;border:1px solid'>{inside}</div>") == names


def test_parts_of_a_button_have_no_lines(listed):
    assert listed("<button>press <b class=on style='background:#ddd'>bold</b></button>") == ["press bold"]


def test_the_next_list_asks_about_more_of_a_silent_kind(pages, visit):
    boxes = "<div style='border:1px solid'>silent</div>" * 4 + f"<div class=on {BOX}>on</div>"

    async def looking_again(session, seen):
        result = await session.step([check_call("wait", {"seconds": 1})])
        return [line.name for line in parse_elements(result.observation.text)]

    html = f"{LISTEN}{boxes}<script>listen(document, 'click')</script>"
    assert visit(pages.add("/silent", html), looking_again) == ["on"]


def test_a_busy_page_keeps_the_lines_of_its_frames(listed, pages):
    busy = "<script>setInterval(() => { const end = Date.now() + 60; while (Date.now() < end); }, 0)</script>"
    boxes = "".join(f"<div class=k{number} style='border:1px solid'>{number}</div>" for number in range(100))
    inner = pages.add("/busy-inner", f"<button>press</button>{boxes}{busy}")
    assert listed(f"<iframe sandbox=allow-scripts style='width:300px;height:300px' src='{inner}'></iframe>") == [
        "press"
    ]


def test_more_controls_than_one_round_asks_about_all_have_lines(listed):
    boxes = "".join(f"<div class=on style='float:left;border:1px solid'>{number}</div>" for number in range(40))
    assert MAX_ASKED < 40
    assert listed(boxes) == [str(number) for number in range(40)]


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
