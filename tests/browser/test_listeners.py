"""Elements that only a listener makes controls have lines and can be pressed."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from components.browser import BrowserPool, check_call, parse_elements
from tests.browser.conftest import PARAMS, task

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


@pytest.mark.parametrize("event", ["mousemove", "touchstart"])
def test_other_listeners_make_no_line(listed, event):
    assert listed(f"<div class=on {BOX}>on</div>", event) == []


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


@pytest.mark.parametrize(
    ("inside", "names"),
    [
        ("Deck boots <x-b></x-b>", ["Remove", "3"]),
        ("Comment <iframe srcdoc='<button>Send</button>'></iframe>", ["Send"]),
        ("<x-s><button>Buy</button></x-s>", ["Buy"]),
    ],
)
def test_controls_in_shadow_roots_slots_and_frames_keep_their_lines(listed, inside, names):
    rooted = """<script>for (const [name, html] of [['x-b', "<button>Remove</button><input value=3>"],
    ['x-s', 'Title <b><slot></slot></b>']]) customElements.define(name, class extends HTMLElement {
    constructor() { super(); this.attachShadow({mode: 'open'}).innerHTML = html; }});</script>"""
    body = f"{rooted}<div class=on style='width:300px;border:1px solid'>{inside}</div>"
    assert [name or "3" for name in listed(body)] == names


def test_many_elements_that_listen_leave_lines_to_other_controls(listed):
    cells = "<div class=on style='float:left;width:30px;border:1px solid'>{}</div>"
    names = listed("".join(map(cells.format, range(230))) + "<button style='clear:both'>Save</button>")
    assert (len(names), names[-1]) == (200, "Save")


@pytest.mark.parametrize(
    ("colour", "names"), [("oklch(0.9 0.1 250)", ["press"]), ("oklch(1 0 0)", []), ("oklch(0.5 0.1 250 / 0.1)", [])]
)
def test_edges_of_newer_colour_spaces_are_seen(listed, colour, names):
    assert listed(f"<body style='background:white'><div class=on style='background:{colour}'>press</div>") == names


def test_every_list_is_of_those_that_listen_at_the_time(pages, visit):
    """No list depends on how long ago another one was made."""
    script = """const off = () => {}, add = () => b.addEventListener('click', off);
    a.addEventListener('click', off, {once: true}); go.onclick = () => setTimeout(add, 0);"""
    body = f"<button id=go>Go</button><div id=a {BOX}>a</div><div id=b {BOX}>b</div><script>{script}</script>"

    async def pressing(session, seen):
        lists = []
        for name in ("", "Go", "a", "b"):
            if name:
                line = next(line for line in parse_elements(seen.text) if line.name == name)
                seen = (await session.step([check_call("click", {"x": line.x, "y": line.y})])).observation
            lists.append([line.name for line in parse_elements(seen.text)])
        return lists

    assert visit(pages.add("/each", body), pressing) == [["Go", "a"], ["Go", "a", "b"], ["Go", "b"], ["Go", "b"]]


def test_the_first_list_after_a_busy_time_has_all_lines(pages, visit):
    busy = "const end = Date.now() + 700; while (Date.now() < end);"
    boxes = "".join(
        f"<div class='on k{number}' style='float:left;border:1px solid'>{number}</div>" for number in range(60)
    )
    html = f"{LISTEN}{boxes}<script>listen(document, 'click'); setTimeout(() => {{ {busy} }}, 50)</script>"

    async def reading(session, seen):
        return len(parse_elements(seen.text))

    assert visit(pages.add("/busy-then-calm", html), reading) == 60


@pytest.mark.parametrize("text", ["elements", "axtree", "none"])
def test_a_teacher_sees_them_whatever_the_agent_observes(pages, text):
    html = f"{LISTEN}<div class=on {BOX}>Save</div><script>listen(document, 'click')</script>"

    async def asking() -> list[str]:
        async with BrowserPool(PARAMS, text=text) as pool, pool.session() as session:
            await session.start(task(pages.add("/oracle", html)))
            return [line.name for line in parse_elements(await session.oracle())]

    assert asyncio.run(asking()) == ["Save"]


def test_a_busy_page_keeps_the_lines_of_its_frames(listed, pages):
    busy = "<script>setInterval(() => { const end = Date.now() + 60; while (Date.now() < end); }, 0)</script>"
    boxes = "".join(f"<div class=k{number} style='border:1px solid'>{number}</div>" for number in range(100))
    inner = pages.add("/busy-inner", f"<button>press</button>{boxes}{busy}")
    assert listed(f"<iframe sandbox=allow-scripts style='width:300px;height:300px' src='{inner}'></iframe>") == [
        "press"
    ]


def test_silent_elements_leave_lines_to_others(listed):
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
