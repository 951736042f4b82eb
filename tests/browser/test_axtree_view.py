"""Large pages: only what is in view is walked, and it reads as if the whole page had been."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Locator

from components.browser import BrowserPool, HarnessError, axtree_view
from components.browser.axtree_rendering import MAX_NODES
from components.browser.tools import ALL_TOOLS, check_call
from tests.browser.conftest import PARAMS, task

ROWS = "".join(f"<p><b>row {n}</b> <button>open {n}</button></p>" for n in range(400))
MIXED = f"""
<style>.hidden-text {{ position: absolute; left: -9999px }} .none {{ display: contents }}</style>
<nav style="position: sticky; top: 0"><a href="/a">Home<span class="hidden-text"> (current)</span></a></nav>
{ROWS}
<div id="middle" aria-labelledby="far" role="region"><input aria-labelledby="far far2">
first line<br>second line<br>third line <script>1</script> after the script
<div class="none">contents <i>in italics</i></div>
<label>Size <input type="checkbox"></label>
<select aria-label="Colour"><option>red</option><option selected>green</option></select>
<div id="host"><span>slotted</span></div>
<table><caption>Prices</caption><tr><th>Name</th><td>tea</td></tr></table>
<div style="position: relative; height: 30px"><span style="position: absolute; top: -5px">stuck out</span></div>
<iframe srcdoc="<button>framed</button>" style="height: 60px"></iframe>
<div style="height: 80px; overflow: auto">{ROWS}</div></div>
<script>
host.attachShadow({{mode: 'open'}}).innerHTML = '<h3>Shadow</h3><slot></slot><slot name="x">fallback</slot>'
</script>
{ROWS}
<h2 id="far">Far <i>away</i></h2><h2 id="far2"><b>label</b></h2>
<div role="dialog" style="position: fixed; bottom: 0"><button>Accept</button></div>
"""
IN_VIEW = "".join(
    f"<i role=button style='position:absolute;left:{n % 80 * 10}px;top:{n // 80 % 60 * 10}px'>{n}</i>"
    for n in range(4800)
)


def observe(url: str, text: str = "axtree", **step: object) -> list[str]:
    """The observations of a page: at its start, and after one call."""

    async def episode():
        async with BrowserPool(PARAMS, text=text) as pool, pool.session() as session:
            seen = [(await session.start(task(url))).text]
            for name, arguments in step.items():
                call = check_call(name, arguments, ALL_TOOLS)
                seen.append((await session.step([call])).observation.text)
            return seen

    return asyncio.run(episode())


@pytest.mark.slow
@pytest.mark.parametrize("amount", [0.01, 26, 27, 100])
def test_a_large_page_reads_as_if_it_had_been_walked_whole(pages, monkeypatch, amount):
    url = pages.add("/mixed", MIXED)
    shown = observe(url, scroll={"direction": "down", "amount": amount})
    monkeypatch.setattr(axtree_view, "LARGE", 10**9)
    whole = observe(url, scroll={"direction": "down", "amount": amount})
    assert shown == whole
    assert len(shown[1].splitlines()) > 10


def test_the_middle_of_the_mixed_page_has_its_features(pages):
    here = MIXED.replace('<div id="middle"', '<a id=here></a><div id="middle"')
    text = observe(pages.add("/middle", here + "<script>here.scrollIntoView()</script>"))[0]
    parts = "Home (current)|Far away label|third line|contents|in italics|after the script|slotted|fallback|Prices"
    for part in f'{parts}|stuck out|framed|Accept|option "green" selected'.split("|"):
        assert part in text
    assert "row 0" in text  # in the inner scroller
    assert "row 399" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "list.innerHTML = '<p><b>x</b><button>buy</button></p>'.repeat(33000)",
        "list.innerHTML = '<table>' + ('<tr>' + '<td>1</td>'.repeat(1000) + '</tr>').repeat(100) + '</table>'",
        "for (let n = 0; n < 50000; n++) document.body.append(`line ${n}`, document.createElement('br'))",
    ],
    ids=["long list", "wide table", "long text"],
)
def test_pages_of_100_000_nodes_are_observed(pages, script):
    url = pages.add("/huge", f"<h1>Shop</h1><div id=list></div><script>{script}</script>")
    first, second = observe(url, scroll={"direction": "down", "amount": 3})
    assert '[1] heading "Shop"' in first
    assert len(first.splitlines()) < MAX_NODES
    assert "more elements" not in first
    assert "Shop" not in second


def test_a_deep_page_is_observed(pages):
    body = (
        "<h1>Shop</h1><script>let e = document.body; for (let n = 0; n < 1200; n++) { const d = "
        "document.createElement('div'); e.append(d); e = d }</script>"
    )
    assert observe(pages.add("/deep", body)) == ['[1] heading "Shop"']


def test_what_is_over_the_budget_is_counted_and_the_top_is_kept(pages):
    dialog = "<div role=dialog style='position:fixed;inset:200px;background:white'><button>Accept</button></div>"
    text = observe(pages.add("/full", IN_VIEW + dialog))[0]
    assert 'button "Accept"' in text
    lines = text.splitlines()
    (more,) = (line for line in lines if line.startswith("... "))
    assert more.endswith(" more elements in view")
    shown = sum(" button " in line for line in lines)
    assert shown + int(more.split()[1]) == 4801  # the dialog's, too


def test_the_page_sees_nothing_of_the_walk(pages):
    body = (
        "<input type=password value=secret id=field>"
        + ROWS * 2
        + (
            "<script>const before = document.body.outerHTML; onscroll = () => { document.title = [field.value, "
            "document.body.firstChild === field, document.body.outerHTML === before, typeof waymark].join() }</script>"
        )
    )
    url = pages.add("/unseen", body)

    async def episode():
        async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
            first = await session.start(task(url))
            second = await session.step([check_call("scroll", {"direction": "down", "amount": 1}, ALL_TOOLS)])
            return first.text, second.observation.tabs[0].title

    text, title = asyncio.run(episode())
    assert '"******"' in text
    assert title.startswith("secret,true,")
    assert title.endswith(",undefined")


@pytest.mark.parametrize("rows", [40, 400], ids=["small", "large"])
@pytest.mark.parametrize("text", ["axtree", "html"])
def test_a_tree_says_how_far_the_page_continues(pages, rows, text):
    """Each row has 100 of the viewport's 600 pixels."""
    body = "<div style='height:100px'><b>row</b> <button>open</button></div>" * rows
    first, second = observe(pages.add(f"/rows{rows}", body), text, scroll={"direction": "down", "amount": 3})
    screens = rows * 100 / 600
    assert first.splitlines()[-1] == f"(more below: {screens - 1:.1f} screens)"
    assert "more above" not in first
    assert second.splitlines()[0] == "(more above: 3.0 screens)"
    assert second.splitlines()[-1] == f"(more below: {screens - 4:.1f} screens)"


def test_a_page_that_fits_or_cannot_be_scrolled_is_not_said_to_go_on(pages):
    assert "more below" not in observe(pages.add("/fits", "<button>open</button>"))[0]
    fixed = "<style>html { overflow: hidden }</style><button>open</button><div style='height:2000px'></div>"
    assert "more below" not in observe(pages.add("/fixed", fixed))[0]


EDITOR = "<div contenteditable role=Textbox aria-label=Body>one<div>two</div></div>"
IN_SHADOW = f"<p id=host></p><script>host.attachShadow({{mode: 'open'}}).innerHTML = '{EDITOR}'</script>"


@pytest.mark.parametrize(
    ("body", "requests"),
    [
        ("<button>open</button><div style='height:3000px'></div>", ["body"]),
        ("<input aria-label=Name><div role=textbox>no editor</div>", ["body"]),
        (EDITOR, ["body", "editors"]),
        (IN_SHADOW, ["body", "editors"]),
        ("<iframe srcdoc='<button>Pay</button>'></iframe>", ["frame", "body"]),
        (IN_VIEW, ["body", "left"]),
    ],
    ids=["scrolls", "empty field", "editor", "editor in a shadow root", "frame", "many elements"],
)
def test_a_document_is_asked_only_for_what_its_snapshot_may_lack(pages, monkeypatch, body, requests):
    asked: list[str] = []

    def count(method):
        original = getattr(Locator, method)

        def counted(locator, *arguments, **options):
            asked.append(str(locator).split(f"{axtree_view.ENGINE}=")[1].split()[0].strip("'>"))
            return original(locator, *arguments, **options)

        monkeypatch.setattr(Locator, method, counted)

    for method in ("aria_snapshot", "count", "text_content"):
        count(method)
    text = observe(pages.add("/asked", body))[0]
    assert asked == requests
    assert ('textbox "Body" value "one two"' in text) == ("editors" in requests)


@pytest.mark.parametrize("field", ["left", "texts"])
def test_an_answer_of_the_engine_without_its_field_is_a_bug(pages, monkeypatch, field):
    """Not a document that was replaced, which is read again, and no editor without text."""
    engine = axtree_view.engine
    monkeypatch.setattr(
        axtree_view, "engine", lambda path: engine(path).replace(f"answer({{ {field}: ", "answer({ x: ")
    )
    monkeypatch.setattr(axtree_view, "BUDGET", 1)
    with pytest.raises(HarnessError, match=rf"1 validation error.*\n{field}\n"):
        observe(pages.add("/wrong", "<div contenteditable role=textbox>one</div><p>two"))


BUSY = "<button>busy</button><script>onmessage = () => { for (;;); }</script>"


@pytest.mark.every(3)
@pytest.mark.timeout(120)
@pytest.mark.parametrize("where", ["page", "frame", "out of view"])
def test_only_the_frame_that_does_not_answer_is_left_out(pages, separate_renderers, where):
    """A frame of another site that computes without end, in the page or in a frame that answers."""
    busy = pages.add("/busy", BUSY).replace("127.0.0.1", "localhost")
    top = "position:absolute;top:1500px;" if where == "out of view" else ""
    frame = f'<iframe style="{top}height:80px" src="{busy}"></iframe>'
    around = f"<iframe srcdoc='{frame}<button>around</button>' style='height:300px'></iframe>"
    body = "<h1>Shop</h1>" + (around if where == "frame" else frame) + '<iframe srcdoc="<button>Pay</button>"></iframe>'
    url = pages.add("/with-busy", body)

    async def episode():
        async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
            await session.start(task(url))
            await session.page.wait_for_load_state("load")
            around_it = "frames[0].frames[0]" if where == "frame" else "frames[0]"
            await session.page.evaluate(f"{around_it}.postMessage('start', '*')")
            await asyncio.sleep(0.5)
            tab = session.tabs.active
            shown = await tab.accessible(tab.viewport)
            return shown.not_shown.frames, [node.name for root in shown.nodes for node in root.walk() if node.name]

    missing, names = asyncio.run(episode())
    assert missing == (0 if where == "out of view" else 1)
    assert names == ["Shop", *(["around"] if where == "frame" else []), "Pay"]
