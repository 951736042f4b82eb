"""BrowserGym's cases of navigation, tabs, frames, shadow roots and observations; see `test_actions`."""

from __future__ import annotations

import asyncio
import io
import re

import pytest
from PIL import Image

from components.browser import BrowserPool
from components.records import Observation
from tests.browser.browsergym.agent import ID, POINT, WAYS, Agent
from tests.browser.conftest import PARAMS, task

pytestmark = pytest.mark.slow

NAMES = "<label>First <input id=first></label> <label>Last <input id=last></label>"
FRAMES = """<label><input type=checkbox id=box> Outer box</label>
<iframe style="width:500px;height:300px" srcdoc='
  <label><input type=checkbox id=box> Middle box</label>
  <iframe style="width:400px;height:150px" srcdoc="
    <label><input type=checkbox id=box checked> Inner box</label> <input placeholder=Inside>
  "></iframe>'></iframe>"""
SHADOW = """<my-form></my-form><script>
customElements.define('my-form', class extends HTMLElement { connectedCallback() {
  this.attachShadow({ mode: 'open' }).innerHTML = '<input aria-label="Level one"><my-part></my-part>'; } });
customElements.define('my-part', class extends HTMLElement { connectedCallback() {
  this.attachShadow({ mode: 'open' }).innerHTML =
    '<input aria-label="Level two"><select aria-label="Size"><option>S<option>L</select>'; } });
</script>"""


# ---- navigation and tabs: test_goto, test_scroll, test_tab_focus, test_new_tab, test_tab_close, test_active_page


def test_history_goes_back_and_forward(run, pages):
    other = pages.add("/other", "other")

    async def play(agent: Agent) -> None:
        start = agent.observation.url
        urls = []
        for name, arguments in (("goto_url", {"url": other}), ("go_back", {}), ("go_forward", {})):
            await agent.call((name, arguments))
            urls.append(agent.observation.url)
        assert urls == [other, start, other]

    run("start", POINT, play)


@WAYS
def test_a_long_page_scrolls_to_what_is_below(run, way):
    body = """<label><input type=checkbox id=first> Top</label><div style=height:1000px></div>
<label><input type=checkbox id=last> Bottom</label>"""

    async def play(agent: Agent) -> None:
        await agent.click("Top")
        assert "Bottom" not in agent.text, "it is out of view"
        assert "boundary" in (await agent.call(("scroll", {"direction": "up"})))[0]
        await agent.call(("click", {"x": 20, "y": 1700}))
        assert not await agent.js("last.checked"), "a point outside of the page is clamped"
        assert "boundary" not in (await agent.call(("scroll", {"direction": "down", "amount": 2})))[0]
        assert "Top" not in agent.text
        await agent.click("Bottom")
        assert await agent.js("first.checked && last.checked")

    run(body, way, play)


def test_tabs_are_opened_chosen_and_closed(run):
    async def play(agent: Agent) -> None:
        def state() -> tuple[int, list[int]]:
            tabs = agent.observation.tabs
            return len(tabs), [tab.index for tab in tabs if tab.active]

        seen = []
        for name, arguments in (
            ("new_tab", {}),
            ("switch_tab", {"index": 0}),
            ("switch_tab", {"index": 1}),
            ("close_tab", {}),
            ("close_tab", {}),
            ("switch_tab", {"index": 5}),
        ):
            line = (await agent.call((name, arguments)))[0]
            seen.append((*state(), line.split(":")[0]))
        assert seen == [
            (2, [1], "Succeed"),
            (2, [0], "Succeed"),
            (2, [1], "Succeed"),
            (1, [0], "Succeed"),
            (1, [0], "Failed"),
            (1, [0], "Failed"),
        ]

    run("start", POINT, play)


@WAYS
def test_a_page_that_opens_a_window_makes_it_active(run, pages, way):
    other = pages.add("/window", "<button onclick=window.close()>Close me</button>")

    async def play(agent: Agent) -> None:
        assert "New tab 1 opened" in await agent.click("Open")
        assert (agent.observation.url, len(agent.observation.tabs)) == (other, 2)
        assert "closed" in await agent.click("Close me")
        assert len(agent.observation.tabs) == 1

    run(f"<button onclick=\"window.open('{other}')\">Open</button>", way, play)


@pytest.mark.parametrize("size", [(1600, 1200), (800, 800)])
def test_the_screenshot_has_the_size_of_the_viewport(pages, size):
    async def main() -> Observation:
        params = PARAMS.model_copy(update={"viewport": size, "concurrency": 1})
        async with BrowserPool(params) as pool, pool.session() as session:
            return await session.start(task(pages.add("/size", "<p>size")))

    observation = asyncio.run(main())
    assert observation.viewport == size
    assert Image.open(io.BytesIO(observation.screenshot.data)).size == size


# ---- frames and shadow roots: test_click_through_frames, test_fill_through_iframe, test_iframe_bid, test_*_shadowdom


@WAYS
def test_a_click_reaches_into_nested_frames(run, way):
    async def play(agent: Agent) -> None:
        for name, frame, checked in (("Outer box", 0, True), ("Middle box", 1, True), ("Inner box", 2, False)):
            await agent.click(name)
            assert await agent.js("box.checked", frame) is checked

    run(FRAMES, way, play)


@WAYS
def test_text_reaches_into_nested_frames(run, way):
    async def play(agent: Agent) -> None:
        line = await agent.write("Inside", "This is a test value.")
        assert line.startswith("Succeed:")
        assert await agent.js("document.querySelector('[placeholder]').value", 2) == "This is a test value."

    run(FRAMES, way, play)


@WAYS
def test_a_frame_scrolls_and_what_was_below_is_used(run, way):
    body = """<iframe style="width:400px;height:200px" srcdoc="<div style=height:600px>long</div>
<label><input type=checkbox id=box> Deep box</label>"></iframe>"""

    async def play(agent: Agent) -> None:
        assert "Deep box" not in agent.text
        await agent.call(("scroll", {"direction": "down", "amount": 4, "x": 250, "y": 150}))
        await agent.click("Deep box")
        assert await agent.js("box.checked", 1)

    run(body, way, play)


@WAYS
def test_elements_of_many_frames_have_ids_of_their_own(run, way):
    frame = (
        '<iframe style="width:180px;height:60px" srcdoc="<label><input type=checkbox id=box> Box {}</label>"></iframe>'
    )

    async def play(agent: Agent) -> None:
        ids = re.findall(r"\[(\d+)\]", agent.text)
        assert len(ids) == len(set(ids))
        for number in (0, 23):
            await agent.click(f"Box {number}")
            assert await agent.js("box.checked", number + 1)

    run("".join(frame.format(number) for number in range(24)), way, play)


@WAYS
@pytest.mark.parametrize("name", ["Level one", "Level two"])
def test_fields_in_shadow_roots_are_filled(run, way, name):
    depth = "document.querySelector('my-form').shadowRoot"
    if name == "Level two":
        depth += ".querySelector('my-part').shadowRoot"

    async def play(agent: Agent) -> None:
        assert name in agent.text
        await agent.write(name, "inside")
        assert await agent.js(f"{depth}.querySelector('input').value") == "inside"

    run(SHADOW, way, play)


@WAYS
def test_an_option_is_chosen_in_a_page_a_frame_and_a_shadow_root(run, way):
    async def play(agent: Agent) -> None:
        await agent.choose("Size", "L")
        select = (
            "document.querySelector('my-form').shadowRoot.querySelector('my-part').shadowRoot.querySelector('select')"
        )
        assert await agent.js(f"{select}.value") == "L"

    run(SHADOW, way, play)

    async def play_in_frame(agent: Agent) -> None:
        await agent.choose("Colour", "Blue")
        assert await agent.js("document.querySelector('select').value", 1) == "Blue"

    run(
        '<iframe style="width:300px" srcdoc="<select aria-label=Colour><option>Red<option>Blue</select>"></iframe>',
        way,
        play_in_frame,
    )


# ---- observation: test_axtree_to_text, test_axtree_to_text_remove_redundant, test_extract_focused_element_bid_*


def test_the_tree_shows_what_was_filled_and_checked(run):
    body = """<h1>Simple form</h1><label>Email <input id=email></label><label><input type=checkbox> Subscribe</label>
<p style=display:none>Text that is hidden</p><nonhtmltag>Text in an unknown tag</nonhtmltag>"""

    async def play(agent: Agent) -> None:
        assert "janice@mail.example" not in agent.text
        await agent.write("Email", "janice@mail.example")
        await agent.click("Subscribe")
        assert 'textbox "Email" value "janice@mail.example"' in agent.text
        assert re.search(r'checkbox "Subscribe".* checked', agent.text)
        assert "Text in an unknown tag" in agent.text
        assert "Text that is hidden" not in agent.text
        assert agent.text.count("Simple form") == 1, "a name is not repeated as text"

    run(body, ID, play)


@pytest.mark.parametrize(
    ("body", "name"), [(FRAMES, "Inner box"), (SHADOW, "Level two"), (NAMES, "Last")], ids=["frame", "shadow", "page"]
)
def test_the_tree_shows_which_element_has_the_focus(run, body, name):
    async def play(agent: Agent) -> None:
        assert "focused" not in agent.text
        await agent.click(name)
        (line,) = [line for line in agent.text.splitlines() if "focused" in line]
        assert name in line

    run(body, ID, play)


# ---- dialogs and downloads


@WAYS
def test_a_dialog_does_not_stop_the_page(run, way):
    async def play(agent: Agent) -> None:
        assert "Saved" in await agent.click("Save")
        assert "Succeed" in await agent.click("Save")

    run("<button onclick=\"alert('Saved')\">Save</button>", way, play)


@WAYS
def test_a_tab_that_becomes_a_download_is_reported(run, pages, way):
    url = pages.add("/file", "1,2", **{"Content-Disposition": "attachment; filename=all.csv"})

    async def play(agent: Agent) -> None:
        line = await agent.click("Get it")
        assert "all.csv" in line
        assert len(agent.observation.tabs) == 1
        await agent.call(("wait", {"seconds": 0}))
        assert agent.observation.url.endswith("/case")

    run(f'<a href="{url}" target=_blank>Get it</a>', way, play)
