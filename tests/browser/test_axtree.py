"""The accessibility tree: Playwright's snapshot read, simplified and shown, and elements acted on by their ids."""

from __future__ import annotations

import asyncio
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.browser import BrowserPool
from components.browser.axtree import ElementIds, Node, NotShown, simplify
from components.browser.axtree_rendering import MAX_NODES, as_html, as_tree
from components.browser.axtree_snapshot import parse
from components.browser.tools import ALL_TOOLS, check_call
from tests.browser.conftest import PARAMS, Pages, task

SNAPSHOT = r"""
- generic [active] [ref=e1] [box=0,0,800,600]:
  - heading "Shop" [level=2] [ref=e2] [box=0,0,800,40]
  - paragraph [ref=e3] [box=0,40,800,20]:
    - text: one
    - generic [ref=e4] [box=40,40,20,20]: two
    - link "three" [ref=e5] [cursor=pointer] [box=60,40,20,20]:
      - /url: /x
  - 'button "a: \"b\" [x=1]" [ref=e6] [box=0,60,50,20]'
  - textbox "Name" [ref=e7] [box=0,80,50,20]: Bob & Co
  - combobox "Size" [ref=e8] [box=0,100,50,20]:
    - option "S" [selected] [box=0,0,0,0]
  - generic [ref=e9] [box=0,120,800,20]:
    - generic [ref=e10] [box=0,120,800,20]
  - iframe [ref=e11] [box=0,590,100,50]:
    - button "seen" [ref=f1e2] [box=0,0,40,5]
    - button "unseen" [ref=f1e3] [box=0,20,40,5]
  - paragraph [ref=e12] [box=0,700,800,20]:
    - text: below
    - button "deep" [ref=e13] [box=0,700,40,20]
""".strip()


def test_a_snapshot_becomes_a_tree_of_visible_elements():
    assert as_tree(ElementIds().number(simplify(parse(SNAPSHOT), (800, 600)), 1)) == (
        '[1] heading "Shop"\n'
        "[2] paragraph\n"
        '  text "one two"\n'
        '  [3] link "three"\n'
        "[4] button \"a: 'b' [x=1]\"\n"
        '[5] textbox "Name" value "Bob & Co"\n'
        '[6] combobox "Size"\n'
        '  option "S" selected\n'
        "[7] iframe\n"
        '  [8] button "seen"'
    )


def test_the_tree_can_be_written_as_markup():
    assert as_html(ElementIds().number(simplify(parse(SNAPSHOT), (800, 600)), 1)) == (
        '<h2 id="1">Shop</h2>\n'
        '<p id="2">\n  one two\n  <a id="3">three</a>\n</p>\n'
        '<button id="4">a: "b" [x=1]</button>\n'
        '<input id="5" type="text" label="Name" value="Bob &amp; Co">\n'
        '<select id="6" label="Size">\n  <option selected>S</option>\n</select>\n'
        '<iframe id="7">\n  <button id="8">seen</button>\n</iframe>'
    )


def test_without_a_viewport_the_tree_has_all_elements():
    assert "deep" in as_tree(simplify(parse(SNAPSHOT)))


def test_a_page_of_many_elements_is_cut_and_says_so():
    shown = as_tree([Node("button", name="b", id=str(number)) for number in range(MAX_NODES + 7)])
    assert shown.splitlines()[-1] == "... 7 more elements in view"


@pytest.mark.parametrize("write", [as_tree, as_html])
def test_what_is_not_shown_of_a_page_is_told(write):
    not_shown = NotShown(elements=3, frames=2, above=0.02, below=2.26)
    assert write([Node("text", text="here")], not_shown).splitlines()[::2] == [
        "(more above: 0.1 screens)", "... 3 more elements in view", "(more below: 2.3 screens)",
    ]  # fmt: skip
    assert "... 2 frames did not answer and are left out" in write([], not_shown)
    assert write([], NotShown(frames=1)) == "... 1 frame did not answer and is left out"


def test_an_id_stays_until_another_document_is_shown():
    ids = ElementIds()
    first = ids.number([Node("button", id="e7"), Node("text", text="x"), Node("link", id="f1e2")], document=1)
    again = ids.number([Node("link", id="f1e2"), Node("link", id="e9")], document=1)
    assert [node.id for node in [*first, *again]] == ["1", None, "2", "2", "3"]
    assert [ids.reference(shown) for shown in ("1", "[2]", " 3 ")] == ["e7", "f1e2", "e9"]
    assert [ids.reference(wrong) for wrong in ("4", "e7", "", "1 >> css=body", "button")] == [None] * 5
    assert ids.number([Node("button", id="f3e7")], document=2)[0].id == "1"
    assert ids.reference("2") is None


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(['- button "', "[ref=e1]", ":", "'", '"', "\n", "  ", "- /url: x"])).map("".join)
)
def test_any_snapshot_is_read(text):
    tree = simplify(parse(text), (10, 10))
    assert isinstance(as_tree(tree), str)
    assert isinstance(as_html(tree), str)


# ---- on real pages --------------------------------------------------------------------------------------------------

PAGE = """
<h1>Shop</h1>
<form onsubmit="document.title='found '+this.q.value; return false"><input name=q aria-label=Search></form>
<select aria-label=Size onchange="document.title=this.value"><option>S</option>
<option value=large>L&nbsp;</option></select>
<button onclick="this.hidden=true; document.title='gone'">Buy</button>
<div id=host></div>
<script>host.attachShadow({mode:'open'}).innerHTML =
'<button onclick="document.title=\\'shadow\\'">In shadow</button>'</script>
<iframe srcdoc="<button onclick='parent.document.title=`framed`'>In frame</button><input aria-label=Inner>"></iframe>
<a href="/next">Next</a>
<div style="height: 2000px"></div><button onclick="document.title='deep'">Far below</button>
"""


def by_name(tree: str, name: str) -> str:
    """The id of the element with a name."""
    line = next(line for line in tree.splitlines() if f'"{name}"' in line)
    return line.strip().split("]")[0].removeprefix("[")


def act(name: str, **arguments: object):
    call = check_call(name, arguments, ALL_TOOLS)
    assert call.error is None
    return call


@pytest.fixture(scope="module")
def walk(pages):
    """`walk(text, body)`: a session that observes `text`, opened on the page above."""
    pages.add("/next", "<p>the next page</p>", title="next")
    url = pages.add("/shop", PAGE)

    def run(text, body):
        async def episode():
            async with BrowserPool(PARAMS, text=text) as pool, pool.session() as session:
                return await body(session, await session.start(task(url)))

        return asyncio.run(episode())

    return run


@pytest.mark.slow
def test_elements_are_acted_on_by_their_ids(walk):
    async def body(session, first):
        tree = first.text
        found = {}
        for name, call in {
            "search": act("write_element", element=by_name(tree, "Search"), text="tea", submit=True),
            "option": act("select_option", element=by_name(tree, "Size"), option="l"),
            "shadow": act("click_element", element=by_name(tree, "In shadow")),
            "frame": act("click_element", element=by_name(tree, "In frame")),
            "hover": act("hover_element", element=by_name(tree, "Buy")),
            "gone": act("click_element", element=by_name(tree, "Buy")),
        }.items():
            result = await session.step([call])
            found[name] = (result.feedback[0], result.observation.tabs[0].title)
        return found

    found = walk("axtree", body)
    assert found["search"] == (
        'Succeed: `write_element` typed "tea" into <input> "Search" and pressed Enter.', "found tea"
    )  # fmt: skip
    assert found["option"] == ('Succeed: `select_option` chose "L". The page changed.', "large")
    assert found["shadow"][1] == "shadow"
    assert found["frame"][1] == "framed"
    assert found["hover"][0].startswith('Succeed: `hover` on <button> "Buy" at (')
    assert found["gone"][1] == "gone"


@pytest.mark.slow
def test_an_id_stays_with_its_element_and_a_wrong_one_fails(walk):
    async def body(session, first):
        result = await session.step([act("click_element", element=by_name(first.text, "Buy"))])
        gone = await session.step([act("click_element", element=by_name(first.text, "Buy"))])
        no_select = await session.step([act("select_option", element=by_name(first.text, "Next"), option="x")])
        no_field = await session.step([act("write_element", element=by_name(first.text, "Next"), text="x")])
        nonsense = await session.step([act("click_element", element="the button")])
        return first.text, result.observation.text, [one.feedback[0] for one in (gone, no_select, no_field, nonsense)]

    before, after, failures = walk("axtree", body)
    assert [by_name(before, name) for name in ("Search", "In frame")] == [
        by_name(after, name) for name in ("Search", "In frame")
    ]
    assert '"Buy"' not in after
    assert "no visible element" in failures[0]
    assert 'has no option "x"' in failures[1]
    assert failures[2].startswith("Failed: `write_element`")
    assert 'no element of this page was shown with the id "the button"' in failures[3]


@pytest.mark.slow
def test_forward_in_history_and_fields_in_frames_work(walk):
    async def body(session, first):
        typed = await session.step([act("write_element", element=by_name(first.text, "Inner"), text="in a frame")])
        await session.step([act("click_element", element=by_name(first.text, "Next"))])
        steps = [await session.step([act(name)]) for name in ("go_forward", "go_back", "go_forward")]
        return typed, [step.feedback[0] for step in steps], steps[-1].observation.text

    typed, said, text = walk("axtree", body)
    assert 'value "in a frame"' in typed.observation.text
    assert said[0] == "Failed: `go_forward` execution failed: there is no next page."
    assert said[2].startswith("Succeed: `go_forward` executed. Page navigated to")
    assert text == '[1] paragraph "the next page"'


@pytest.mark.parametrize("text", ["axtree", "html"])
def test_only_the_length_of_a_password_is_shown(pages, text):
    pages.add("/pin", "<input type=password value=4321>")
    url = pages.add("/login", "<input value=alice><input type=password value=hunter2><iframe src=/pin></iframe>")

    async def scenario():
        async with BrowserPool(PARAMS, text=text) as pool, pool.session() as session:
            return (await session.start(task(url))).text

    seen = asyncio.run(scenario())
    assert [word in seen for word in ('"alice"', '"*******"', '"****"', "hunter2", "4321")] == [True] * 3 + [False] * 2


def test_html_shows_the_viewport_and_scrolling_shows_more(walk):
    async def body(session, first):
        below = await session.step([act("scroll", direction="down", amount=100)])
        return first.text, below.observation.text

    top, bottom = walk("html", body)
    assert ">Shop</h1>" in top
    assert "Far below" not in top
    assert ">Far below</button>" in bottom
    assert "Shop" not in bottom


def test_a_select_in_its_label_is_named_without_its_options(pages):
    select = "<label>Size <select><option>S</option><option>M</option></select></label>"
    url = pages.add("/label", select + f'<iframe srcdoc="{select}"></iframe>')

    async def scenario():
        async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
            first = (await session.start(task(url))).text
            shown = [line.strip() for line in first.splitlines() if "combobox" in line]
            calls = [act("select_option", element=line.split()[0], option="M") for line in shown]
            result = await session.step(calls)
            return first, result.feedback, result.observation.text

    before, feedback, after = asyncio.run(scenario())
    assert before.count('combobox "Size"') == 2
    assert [line.split(". ")[0] for line in feedback] == ['Succeed: `select_option` chose "M"'] * 2
    assert after == before.replace('"S" selected', '"S"').replace('option "M"', 'option "M" selected')


@pytest.mark.parametrize(("frame", "shown"), [("[active] ", ["inner"]), ("", [])])
def test_the_active_element_of_a_frame_has_the_focus_if_the_frame_has(frame, shown):
    text = f"""- generic [active] [ref=e1]:
  - iframe {frame}[ref=e2]:
    - textbox "inner" [active] [ref=f1e1]
  - textbox "outer" [ref=e3]"""
    (root,) = parse(text)
    assert [node.name for node in root.walk() if "focused" in node.states] == shown


def test_an_editor_shows_its_lines_and_keeps_what_can_be_clicked(pages):
    editor = "<div contenteditable role=textbox aria-label={}>{}</div>"
    pages.add("/editor", editor.format("Inner", "in a<div>frame</div>"))
    body = editor.format("Body", "one<div>two</div>") + editor.format("Linked", "see <a href=/x>this</a>")
    url = pages.add("/editors", body + "<iframe src=/editor></iframe>")

    async def scenario():
        async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
            return (await session.start(task(url))).text

    assert asyncio.run(scenario()).splitlines() == [
        '[1] textbox "Body" value "one two"',
        '[2] textbox "Linked" value "see this"',
        '  [3] link "this"',
        "[4] iframe",
        '  [5] textbox "Inner" value "in a frame"',
    ]


@pytest.fixture(scope="module")
def elsewhere():
    """A server of another origin on the same site."""
    server = Pages()
    yield server
    server.close()


@pytest.mark.every(3)
@pytest.mark.parametrize("text", ["axtree", "html"])
@pytest.mark.parametrize("kind", ["port", "site", "sandbox"])
def test_a_frame_of_another_origin_is_shown_and_acted_on(pages, elsewhere, separate_renderers, kind, text):
    """Of another port, of another site with a renderer of its own, and of no origin."""
    inner = """<h2>Pay</h2><input aria-label=Card><button onclick="this.textContent = 'paid'">Pay now</button>"""
    server = pages if kind == "sandbox" else elsewhere
    url = server.add("/pay", inner).replace("127.0.0.1", "localhost" if kind == "site" else "127.0.0.1")
    sandbox = 'sandbox="allow-scripts"' if kind == "sandbox" else ""
    body = f'<h1>Shop</h1><iframe style="width:300px;height:200px" src="{url}" {sandbox}></iframe>'
    shop = pages.add(f"/shop-{kind}-{text}", body)

    async def episode() -> tuple[str, str]:
        async with BrowserPool(PARAMS, text=text) as pool, pool.session() as session:
            await session.start(task(shop))
            await session.page.wait_for_load_state("load")
            first = (await session.step([])).observation.text
            card, button = (re.search(rf"""(?:\[|id=")(\d+)[^\n]*{name}""", first)[1] for name in ("Card", "Pay now"))
            calls = [act("write_element", element=card, text="4711"), act("click_element", element=button)]
            result = await session.step(calls)
            assert all(line.startswith("Succeed: ") for line in result.feedback), result.feedback
            return first, result.observation.text

    first, after = asyncio.run(episode())
    assert "Shop" in first
    assert "Pay" in first
    assert "4711" in after
    assert "paid" in after
