"""Shadow roots, slots and frames are part of the page: what they show has a line, and its point operates it."""

from __future__ import annotations

import itertools

import pytest

from components.browser import check_call, parse_elements

_COUNT = itertools.count()
PRESS = "onclick=\"top.document.title='pressed '+this.textContent\""
SHADOW = f"""<script>customElements.define('x-card', class extends HTMLElement {{ constructor() {{ super();
this.attachShadow({{mode: 'open'}}).innerHTML = `<p>head</p><slot></slot>
<slot name=foot><button {PRESS}>fallback</button></slot><x-inner></x-inner>`; }} }});
customElements.define('x-inner', class extends HTMLElement {{ constructor() {{ super();
this.attachShadow({{mode: 'open'}}).innerHTML = `<button {PRESS}>deep</button>`; }} }});</script>"""
INNER = f"""<div style='height:120px'>text</div><button {PRESS}>in</button>
<button style='display:block;margin-top:900px'>below</button>"""


@pytest.fixture
def press(pages, visit):
    """`press(body, name)` clicks the line with a name: the title after it, and the names of all lines before it."""

    def run(body: str, name: str) -> tuple[str, list[str]]:
        async def clicking(session, seen):
            lines = parse_elements(seen.text)
            names = [line.name for line in lines]
            if name not in names:
                return "no line", names
            line = lines[names.index(name)]
            result = await session.step([check_call("click", {"x": line.x, "y": line.y})])
            return result.observation.tabs[0].title, names

        return visit(pages.add(f"/composed{next(_COUNT)}", body), clicking)

    return run


@pytest.fixture
def framed(pages):
    """`framed(style, inner)`: a frame of the same origin, 300 × 200 pixels."""

    def html(style: str = "", inner: str = INNER) -> str:
        url = pages.add(f"/inner{next(_COUNT)}", inner)
        return f'<iframe style="width:300px;height:200px;{style}" src="{url}"></iframe>'

    return html


@pytest.mark.parametrize("name", ["light", "fallback", "deep"])
def test_controls_in_shadow_roots_and_slots_operate(press, name):
    title, names = press(f"{SHADOW}<x-card><button {PRESS}>light</button></x-card>", name)
    assert title == f"pressed {name}"
    assert names == ["light", "fallback", "deep"]


def test_children_of_a_host_without_a_slot_have_no_line(press):
    assert press(f"{SHADOW}<x-inner><button>lost</button></x-inner>", "lost") == ("no line", ["deep"])


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "style",
    ["border:0", "border:9px solid;padding:13px", "transform:scale(.5)", "zoom:1.5", "position:absolute;left:333px"],
)
@pytest.mark.parametrize("around", ["", "transform:scale(.8)", "height:230px;overflow:scroll"])
def test_a_button_in_a_frame_is_pressed_at_its_point(press, framed, style, around):
    assert press(f'<div style="{around}">{framed(style)}</div>', "in") == ("pressed in", ["in"])


def test_a_button_in_a_frame_in_a_frame_is_pressed(press, framed):
    assert press(framed("margin:40px", framed("margin:10px")), "in") == ("pressed in", ["in"])


def test_a_frame_in_a_shadow_root_is_part_of_the_page(press, framed):
    attach = f"document.body.attachShadow({{mode: 'open'}}).innerHTML = `{framed()}`"
    assert press(f"<script>{attach}</script>", "in") == ("pressed in", ["in"])


@pytest.mark.parametrize("hidden", ["opacity:0", "visibility:hidden", "display:none", "pointer-events:none"])
def test_controls_of_a_hidden_frame_have_no_line(press, framed, hidden):
    assert press(f"<button>out</button>{framed(hidden)}", "in") == ("no line", ["out"])


def test_controls_of_a_covered_frame_have_no_line(press, framed):
    cover = '<div style="position:fixed;inset:0;background:#eee"></div>'
    assert press(framed() + cover, "in") == ("no line", [])


def test_controls_of_a_rotated_frame_have_no_line(press, framed):
    assert press(f"<button>out</button>{framed('transform:rotate(30deg)')}", "in") == ("no line", ["out"])


@pytest.mark.parametrize("editor", ["<body contenteditable>", "<body><script>document.designMode='on'</script>"])
def test_an_editable_body_in_a_frame_is_a_field(pages, visit, editor):
    path = f"/editor{next(_COUNT)}"
    pages.pages[path] = (200, f"{editor}<p>a text</p>", {})
    outer = pages.add(f"/editing{next(_COUNT)}", f'<iframe src="{path}"></iframe>')

    async def typing(session, seen):
        (line,) = parse_elements(seen.text)
        await session.step([check_call("click", {"x": line.x, "y": line.y})])
        await session.page.keyboard.type("more ")
        (after,) = parse_elements((await session.step([])).observation.text)
        return line, after

    line, after = visit(outer, typing)
    assert (line.role, line.value) == ("field", "a text")
    assert "more" in after.value
    assert "focused" in after.states
