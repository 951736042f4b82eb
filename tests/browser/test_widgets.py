"""Widgets of real libraries, rebuilt in a few lines: each has a line, and a click on its point operates it."""

from __future__ import annotations

import itertools

import pytest

from components.browser import check_call, parse_elements

_COUNT = itertools.count()
DONE = "document.title='operated'"
WIDGETS = {
    "a switch that hides its checkbox": (
        f'<div role=switch aria-checked=false tabindex=0 aria-label=Dark onclick="{DONE}"'
        ' style="width:60px;height:30px"><input type=checkbox style="display:none"></div>',
        ("checkbox", "Dark"),
    ),
    "a thumb of a slider": (
        f'<div style="position:relative;height:30px"><div role=slider tabindex=0 aria-label=Age aria-valuenow=5 '
        f'onmousedown="{DONE}" style="position:absolute;left:200px;width:14px;height:14px"><div>5</div></div></div>',
        ("slider", "Age"),
    ),
    "a transparent slider over its drawing": (
        f'<div style="position:relative;width:200px;height:20px;background:#ccc"><input type=range aria-label=Level '
        f'style="opacity:0;width:100%" onclick="{DONE}"></div>',
        ("slider", "Level"),
    ),
    "a thumb around a slider of one pixel": (
        f'<div style="position:relative;height:30px"><div onmousedown="{DONE}" style="position:absolute;left:200px;'
        'width:14px;height:14px;background:red"><div style="clip-path:inset(50%);overflow:hidden;position:absolute;'
        'width:1px;height:1px;margin:-1px"><input type=range aria-label=Wind></div></div></div>',
        ("slider", "Wind"),
    ),
    "a file field over its drop zone": (
        f'<div style="position:relative;width:200px;height:60px">Drop here<input type=file aria-label=Photo '
        f'style="opacity:0;position:absolute;inset:0" onclick="event.preventDefault();{DONE}"></div>',
        ("field", "Photo"),
    ),
    "a hidden file field behind its label": (
        f'<label>Choose a photo<input type=file style="display:none" onclick="event.preventDefault();{DONE}"></label>',
        ("field", "Choose a photo"),
    ),
    "a focusable part without a role": (
        f"<div tabindex=0 onmousedown=\"{DONE}\" style='width:90px'>Notebook</div>",
        ("button", "Notebook"),
    ),
    "a handler in an attribute": (f'<span onclick="{DONE}">Expand all</span>', ("button", "Expand all")),
    "a part with a state": (
        f'<ul><li aria-selected=true onmousedown="{DONE}">data.csv</li></ul>',
        ("option", "data.csv"),
    ),
    "a button of a web component": (
        "<script>customElements.define('x-button', class extends HTMLElement { constructor() { super();"
        "this.attachShadow({mode: 'open'}).innerHTML = '<button><slot></slot></button>'; } });</script>"
        f'<x-button onclick="{DONE}">Run</x-button>',
        ("button", "Run"),
    ),
    "an icon button named by its host": (
        "<script>customElements.define('x-icon', class extends HTMLElement { constructor() { super();"
        "this.attachShadow({mode: 'open'}).innerHTML = '<button style=\"width:30px;height:30px\"></button>'; } });"
        f'</script><x-icon aria-label=Save onclick="{DONE}"></x-icon>',
        ("button", "Save"),
    ),
}


@pytest.fixture
def operate(pages, visit):
    """`operate(body)`: the lines of a page, and its title after a click on the first."""

    def run(body: str) -> tuple[list, str]:
        async def clicking(session, seen):
            lines = parse_elements(seen.text)
            if not lines:
                return lines, ""
            result = await session.step([check_call("click", {"x": lines[0].x, "y": lines[0].y})])
            return lines, result.observation.tabs[0].title

        return visit(pages.add(f"/widget{next(_COUNT)}", body), clicking)

    return run


@pytest.mark.parametrize("kind", WIDGETS)
def test_a_widget_has_one_line_and_operates_at_its_point(operate, kind):
    body, expected = WIDGETS[kind]
    lines, title = operate(body)
    assert [(line.role, line.name) for line in lines] == [expected]
    assert title == "operated"


CODEMIRROR_5 = f"""<div style="position:relative;width:400px;height:100px">
<div style="overflow:hidden;position:relative;width:3px;height:0"><textarea aria-label=Code style="position:absolute;
width:1000px;height:1em" onfocus="{DONE}"></textarea></div>
<div style="cursor:text;height:100px" onmousedown="event.preventDefault();document.querySelector('textarea').focus()">
<pre>x = 1</pre></div></div>"""
SHORT_TEXT = f"""<div style="position:relative;width:400px;height:100px">
<div style="overflow:hidden;position:relative;width:3px;height:0"><textarea aria-label=Code style="position:absolute;
width:1000px;height:1em" onfocus="{DONE}"></textarea></div>
<div style="height:100px" onmousedown="event.preventDefault();document.querySelector('textarea').focus()">
<div style="cursor:text;height:20px">x = 1</div></div></div>"""
MONACO = f"""<div style="position:relative;width:400px;height:100px"><div style="height:100px;overflow:hidden"
onmousedown="event.preventDefault();document.querySelector('textarea').focus()">
<textarea aria-label=Code style="position:absolute;width:1px;height:1px;opacity:0" onfocus="{DONE}"></textarea>
<div style="cursor:text;height:100px"><div><span>x = 1</span></div></div></div></div>"""
CODEMIRROR_6 = f"""<div role=textbox aria-multiline=true aria-label=Code contenteditable=true onfocus="{DONE}"
style="width:400px;height:100px"><div>x = 1</div></div>"""


@pytest.mark.parametrize("editor", [CODEMIRROR_5, SHORT_TEXT, MONACO, CODEMIRROR_6])
def test_an_editor_of_code_is_a_field_with_its_text(operate, editor):
    lines, title = operate(editor)
    assert [(line.role, line.name, line.value, line.states) for line in lines] == [
        ("field", "Code", "x = 1", {"multiline"})
    ]
    assert title == "operated"


ROVING = f"""<ul style="width:200px" onmousedown="if (event.target.textContent === 'old.txt') {{ {DONE} }}">
<li><span><i tabindex=-1>old.txt</i></span> <span tabindex=-1>today</span></li>
<li><span><i tabindex=0 role=button>notes.md</i></span> <span tabindex=-1>a year ago</span></li></ul>"""


def test_items_alike_share_the_role_of_the_one_that_takes_the_focus(operate):
    lines, title = operate(ROVING)
    assert [(line.role, line.name) for line in lines] == [("button", "old.txt"), ("button", "notes.md")]
    assert title == "operated"


def test_an_element_without_a_focusable_twin_is_not_listed(operate):
    lines, _ = operate("<div tabindex=-1>a panel</div><p tabindex=0>a paragraph</p>")
    assert [line.name for line in lines] == ["a paragraph"]


def test_a_focusable_area_that_holds_controls_is_not_listed(operate):
    lines, _ = operate(
        "<section tabindex=0><p>text</p><button>a</button></section><div tabindex=0 role=region>text</div>"
    )
    assert [line.name for line in lines] == ["a"]


def test_a_link_over_two_lines_is_clicked_on_its_own_rectangle(operate):
    text = "<p style='width:200px;margin:0'>some words before <a href='#there'>a link over two lines of text</a></p>"
    (line,), _ = operate(f"{text}<script>onhashchange = () => {{ {DONE} }}</script>")
    assert operate(f"{text}<script>onhashchange = () => {{ {DONE} }}</script>")[1] == "operated"
    assert line.y != 30
