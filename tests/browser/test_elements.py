"""The element list shows what a user could see and act on, and nothing else. Viewport 800 × 600."""

import itertools

import pytest

from components.browser import Listed, check_call, element_list, parse_elements, written_name

_COUNT = itertools.count()


@pytest.fixture
def listing(pages, visit):
    """The lines of elements of a body of HTML."""

    def of(body: str) -> str:
        async def look(session, observation):
            return "\n".join(line for line in observation.text.splitlines() if line.startswith("- "))

        return visit(pages.add(f"/list{next(_COUNT)}", body), look)

    return of


def at(x, y, tag="button", style="", attributes="", text="b"):
    place = f"position:absolute;left:{x}px;top:{y}px;width:80px;height:30px"
    return f'<{tag} {attributes} style="{place};{style}">{text}</{tag}>'


def test_a_line_is_role_name_states_and_centre_in_thousandths(listing):
    assert listing(at(360, 285, text="cancel")) == '- button "cancel" 500 500'


def test_reading_order_is_row_by_row(listing):
    text = listing(at(400, 105, text="b") + at(0, 300, text="c") + at(0, 100, text="a"))
    assert [item.name for item in parse_elements(text)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "style",
    [
        "display:none",
        "visibility:hidden",
        "opacity:0",
        "left:900px",
        "top:700px",
        "clip-path:inset(50%)",
        "width:0;padding:0;border:0;overflow:hidden",
    ],
)
def test_invisible_elements_are_not_listed(listing, style):
    assert listing(at(10, 10, style=style)) == ""


def test_covered_elements_are_not_listed(listing):
    assert (
        listing(at(10, 10, text="under") + at(0, 0, "div", "width:300px;height:200px;background:#eee", text="a sheet"))
        == ""
    )


def test_a_partly_covered_element_is_clicked_where_it_is_visible(listing, pages, visit):
    text = listing(at(100, 100, text="under") + at(130, 100, text="over"))
    under = next(item for item in parse_elements(text) if item.name == "under")
    assert 100 / 800 * 1000 <= under.x <= 130 / 800 * 1000


def test_elements_scrolled_out_of_a_box_are_not_listed(listing):
    assert (
        listing('<div style="height:50px;overflow:auto"><div style="height:200px">text</div><button>far</button></div>')
        == ""
    )


def test_fields_have_their_label_value_and_focus(listing):
    text = listing(
        '<label>Name <input value="Bob"></label><label for=p>Key</label><input id=p type=password value=abc>'
        '<script>document.querySelector("input").focus()</script>'  # autofocus waits for a first frame
    )
    fields = parse_elements(text)
    assert [(f.name, f.value, "focused" in f.states) for f in fields] == [("Name", "Bob", True), ("Key", "***", False)]


def test_a_label_beside_a_field_names_it(listing):
    assert parse_elements(listing("<p><label>Password</label><input></p>"))[0].name == "Password"


def test_checkboxes_and_radios_have_label_and_state(listing):
    text = listing("<label><input type=checkbox checked>abc</label><br><label><input type=radio>xyz</label>")
    assert [(i.role, i.name, i.states) for i in parse_elements(text)] == [
        ("checkbox", "abc", frozenset({"checked"})),
        ("radio", "xyz", frozenset()),
    ]


def test_a_styled_checkbox_is_listed_where_its_label_is(listing):
    text = listing('<input id=c type=checkbox style="opacity:0;position:absolute;left:-99px"><label for=c>news</label>')
    assert [(i.role, i.name) for i in parse_elements(text)] == [("checkbox", "news")]


def test_disabled_expanded_and_multiline_states_are_listed(listing):
    text = listing("<button disabled>a</button><br><button aria-expanded=true>b</button><br><textarea>c</textarea>")
    assert [i.states for i in parse_elements(text)] == [{"disabled"}, {"expanded"}, {"multiline"}]


def test_a_select_has_its_value(listing):
    assert parse_elements(listing("<select><option>one<option selected>two</select>"))[0].value == "two"


def test_text_that_looks_like_a_link_is_a_link(listing):
    text = listing(
        '<p>a <span style="color:blue;text-decoration:underline">word</span> and <u>an underlined one</u></p>'
    )
    assert [(i.role, i.name) for i in parse_elements(text)] == [("link", "word")]


def test_an_element_with_a_pointer_cursor_is_listed_once(listing):
    text = listing(
        '<div style="cursor:pointer"><span><b>Open</b></span></div><div style="cursor:pointer"><a href="#">in</a></div>'
    )
    assert [(i.role, i.name) for i in parse_elements(text)] == [("button", "Open"), ("link", "in")]


def test_a_tab_and_the_link_inside_it_are_one_thing(listing):
    text = listing(
        '<ul role=tablist><li role=tab aria-selected=true><a href="#x" role=presentation>Tab #1</a></li></ul>'
    )
    assert [(i.role, i.name, i.states) for i in parse_elements(text)] == [("tab", "Tab #1", {"selected"})]


def test_colours_come_out_by_name_from_the_computed_style(listing):
    names = [
        "red",
        "blue",
        "olive",
        "lime",
        "black",
        "white",
        "grey",
        "purple",
        "orange",
        "yellow",
        "cyan",
        "pink",
        "magenta",
    ]
    boxes = [
        f'<div data-color="x" style="position:absolute;left:{i * 60}px;top:9px;width:50px;height:50px;'
        f'border:1px solid black;background-color:{name}"></div>'
        for i, name in enumerate(names)
    ]
    assert [(i.role, i.name) for i in parse_elements(listing("".join(boxes)))] == [("box", name) for name in names]


def test_plain_text_and_plain_containers_are_not_listed(listing):
    assert listing("<h1>Hello</h1><p>some text</p><div style='height:40px'></div>") == ""


def test_quotes_in_names_cannot_break_the_line(listing):
    assert parse_elements(listing('<button>say "hi"</button>'))[0].name == "say 'hi'"


def test_a_name_is_written_as_the_list_writes_it(listing):
    names = [
        'Wrench 1/2"',
        "n" * 60,
        "n" * 61,
        "\N{HAMMER}" * 20 + "\N{DOG}" * 11,
        "two  spaces\u200b ",
        "no\u00a0break",
    ]
    buttons = "".join(f"<button style='display:block; white-space:pre'>{name}</button>" for name in names)
    lines = parse_elements(listing(buttons.encode("ascii", "xmlcharrefreplace").decode()))
    assert [line.name for line in lines] == [*map(written_name, names)]


def test_lines_parse_back():
    assert parse_elements('- field "Name" value "Bob" focused 300 120\n- box red 1 2') == [
        Listed("field", "Name", "Bob", frozenset({"focused"}), 300, 120),
        Listed("box", "red", "", frozenset(), 1, 2),
    ]


def test_the_instruction_can_be_left_out(pages, visit):
    async def look(session, observation):
        return await element_list(session.page, "#query")

    assert visit(pages.add("/query", "<div id=query><button>said</button></div>"), look) == ""


def test_a_document_without_any_element_has_an_empty_list(pages, visit):
    url = pages.add("/emptied", "x")

    async def body(session, _):
        await session.page.evaluate("document.documentElement.remove()")
        result = await session.step([])
        return result.observation.text, (await session.step([check_call("click", {"x": 5, "y": 5})])).feedback[0]

    text, said = visit(url, body)
    assert text == ""
    assert said.startswith("Succeed: `click` at")


def test_a_page_that_overrides_built_ins_is_still_read(pages, visit):
    tampered = (
        "<button onclick=\"document.title='pressed'\" style='width:800px;height:600px'>Go</button><script>"
        "for (const name of ['map', 'filter', 'find', 'flatMap', 'sort', 'push'])"
        " Array.prototype[name] = () => { throw 1 };"
        "JSON.stringify = Promise.prototype.then = () => { throw 2 };"
        "document.elementFromPoint = Element.prototype.getClientRects = window.getComputedStyle = () => { throw 3 };"
        "window.requestAnimationFrame = window.setTimeout = () => {};"
        "Object.defineProperty(window, Symbol.for('waymark'), {value: {changes: 9, document}})</script>"
    )

    async def body(session, seen):
        result = await session.step([check_call("click", {"x": 500, "y": 500})])
        return seen.text, result.feedback[0], result.observation.tabs[0].title

    text, said, title = visit(pages.add("/tampered", tampered), body)
    assert text == '- button "Go" 500 500'
    assert said.startswith('Succeed: `click` on <button> "Go" at (500, 500) executed.')
    assert title == "pressed"


def test_a_name_may_have_separators_that_only_python_knows():
    (button,) = parse_elements('- button "a\x85b\x1c" 1 2')
    assert button.name == "a\x85b\x1c"


def test_a_form_with_a_field_named_children_lists_its_controls(listing):
    form = (
        "<form><select name=children aria-label=Children><option>0</select><input aria-label=City><button>Go</button>"
    )
    assert [item.name for item in parse_elements(listing(form))] == ["Children", "City", "Go"]
    hidden = "<form><input type=hidden name=children><input aria-label=City><button>Go</button></form>"
    assert [item.name for item in parse_elements(listing(hidden))] == ["City", "Go"]


def test_a_form_with_a_field_named_children_names_its_other_fields(listing):
    form = (
        "<form><div><span>Adults</span><input type=number name=adults></div><input type=number name=children>"
        "<button>Search</button></form>"
    )
    assert [item.role for item in parse_elements(listing(form))] == ["field", "field", "button"]
