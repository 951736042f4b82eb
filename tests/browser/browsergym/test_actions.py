"""The cases of BrowserGym's own tests (its `tests/core`), in our words and on pages of our own, through our tools.

Most run twice: with the tools that take points, and with those that take the ids of the accessibility tree. The names
of BrowserGym's cases are in the comments. These have no counterpart here, and are not tested:

- `test_action_parser`, `test_action_cleaning`: BrowserGym's actions are Python code. Ours are JSON, which the
  protocols parse (`tests/agent`).
- `test_meta_action`, `test_mouse_down_up` with separate calls for down and up: a call here is a whole gesture.
  `drag` to the same point presses and releases.
- `test_clear_error`, a call with a selector, an id and a point at once: our tools take one kind of place.
- `test_forced_actions` with force: the mouse does what a person's does, so nothing is forced through a cover.
- `test_dom_*`, `test_extract_dom_*`, `test_tags_to_mark`, `test_dom_has_bids_no_aria`: no raw DOM is observed, and
  pages are not marked with attributes. The ids of the accessibility tree have a test of their own below.
- `test_filter_*` and the `with_*` options of `flatten_axtree_to_str`: the text has one form per protocol.
- `test_demo_mode`, `test_nested_iframes_default_demo_mode`, `test_mouse_pointer`: no demonstration mode.
- `test_max_episode_steps`, `test_registration`, `test_task`: steps are counted by the episode loop (`tests/agent`), and
  tasks are records.
- `test_gym_env` with a reward: rewards are judged after the episode (`tests/judge`).
"""

from __future__ import annotations

import pytest

from tests.browser.browsergym.agent import POINT, WAYS, Agent

CHECKBOXES = """<label><input type=checkbox id=bike> I have a bike</label>
<label><input type=checkbox id=boat> I have a boat</label>"""
NAMES = "<label>First <input id=first></label> <label>Last <input id=last></label>"


# ---- test_valid_action, test_invalid_action, test_click, test_hover, test_dblclick


@WAYS
def test_each_click_on_a_checkbox_toggles_it(run, way):
    async def play(agent: Agent) -> None:
        assert "Checked." in await agent.click("I have a bike")
        assert await agent.js("bike.checked")
        place = await agent.place("I have a bike")
        lines = await agent.call(*[(agent.tool("click"), place)] * 3)
        assert [line.split()[-1] for line in lines] == ["Unchecked.", "Checked.", "Unchecked."]
        assert not await agent.js("bike.checked")
        assert not await agent.js("boat.checked")

    run(CHECKBOXES, way, play)


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("click_element", {"element": "INVALID"}, "no element of this page was shown"),
        ("click_element", {"element": None}, "element"),
        ("click_element", {"element": 42.7}, "element"),
        ("click_element", {"element": []}, "element"),
        ("click_element", {"element": {}}, "element"),
        ("click_element", {"element": {"k": "a"}}, "element"),
        ("click_element", {}, "element is missing"),
        ("click", {"x": 1}, "y is missing"),
        ("click", {"x": 1, "y": 2, "z": 3}, "unknown argument z"),
        ("fly", {}, "unknown tool"),
    ],
)
def test_a_wrong_call_fails_alone(run, name, arguments, reason):
    async def play(agent: Agent) -> None:
        wrong, right = await agent.call((name, arguments), ("hover", {"x": 1, "y": 1}))
        assert wrong.startswith("Failed:")
        assert reason in wrong
        assert right.startswith("Succeed:")
        assert not await agent.js("bike.checked")

    run(CHECKBOXES, POINT, play)


@WAYS
def test_hovering_shows_and_leaving_hides(run, way):
    body = """<input type=button value="Hover me" onmouseover="this.value = 'Hello world!'"
      onmouseout="this.value = 'Hover me'" style="position:absolute;left:200px;top:200px;width:120px;height:40px">"""

    async def play(agent: Agent) -> None:
        await agent.hover("Hover me")
        assert await agent.js("document.querySelector('input').value") == "Hello world!"
        assert "Hello world!" in agent.text
        await agent.call(("hover", {"x": 0, "y": 0}))
        assert await agent.js("document.querySelector('input').value") == "Hover me"

    run(body, way, play)


def test_a_double_click_is_no_two_clicks(run):
    body = "<button ondblclick=\"this.textContent = 'opened'\">Folder</button>"

    async def play(agent: Agent) -> None:
        await agent.click("Folder", click_type="double")
        assert await agent.js("document.querySelector('button').textContent") == "opened"

    run(body, POINT, play)


# ---- text: test_fill_type_press, test_key_press, test_input_type_number, test_auto_complete, test_clear_success


@WAYS
def test_fields_are_filled_one_after_the_other(run, way):
    async def play(agent: Agent) -> None:
        await agent.write("First", "Christian")
        await agent.write("Last", "Clavier")
        assert await agent.js("[first.value, last.value]") == ["Christian", "Clavier"]
        await agent.write("First", "Gérard")
        assert await agent.js("[first.value, last.value]") == ["Gérard", "Clavier"]

    run(NAMES, way, play)


@WAYS
def test_an_empty_text_clears_a_field(run, way):
    async def play(agent: Agent) -> None:
        await agent.write("First", "Christian")
        assert (await agent.write("First", "")).startswith("Succeed:")
        assert await agent.js("first.value") == ""

    run(NAMES, way, play)


@WAYS
def test_keys_clear_a_field_and_type(run, way):
    async def play(agent: Agent) -> None:
        await agent.write("First", "Christian")
        await agent.click("First")
        await agent.call(*[("press_keys", {"keys": [key]}) for key in ("End", "shift+Home", "Backspace", "J", "o")])
        assert await agent.js("first.value") == "Jo"

    run(NAMES, way, play)


@WAYS
def test_text_without_a_focused_field_goes_nowhere(run, way):
    async def play(agent: Agent) -> None:
        await agent.write("First", "Jean")
        (_, line) = await agent.call(("click", {"x": 999, "y": 999}), ("write", {"text": "Reno"}))
        assert line.startswith("Failed:")
        assert await agent.js("[first.value, last.value]") == ["Jean", ""]

    run(NAMES, way, play)


@WAYS
def test_text_is_copied_by_keys(run, way):
    async def play(agent: Agent) -> None:
        await agent.write("First", "Christian")
        await agent.click("First")
        await agent.call(*[("press_keys", {"keys": [key]}) for key in ("ctrl+a", "ctrl+c")])
        await agent.click("Last")
        await agent.press("ctrl+v")
        assert await agent.js("last.value") == "Christian"

    run(NAMES, way, play)


@WAYS
def test_a_number_field_takes_numbers_one_after_the_other(run, way):
    async def play(agent: Agent) -> None:
        for number in ("6", "7"):
            await agent.write("Guess", number)
            assert await agent.js("guess.value") == number

    run("<label>Guess <input type=number id=guess></label>", way, play)


@WAYS
def test_suggestions_come_while_a_field_is_filled(run, way):
    body = """<label>From <input id=from></label><ul id=list></ul><script>
from.oninput = () => { list.innerHTML = '<li role=option tabindex=-1>Kahului, HI</li>'; };
list.onclick = () => { from.value = list.textContent; list.innerHTML = ''; };</script>""".replace(
        "from.", "document.getElementById('from')."
    )

    async def play(agent: Agent) -> None:
        await agent.write("From", "OGG")
        assert "Kahului, HI" in agent.text
        await agent.click("Kahului, HI")
        assert await agent.js("document.getElementById('from').value") == "Kahului, HI"

    run(body, way, play)


@WAYS
def test_a_form_is_filled_over_several_turns(run, way):
    body = """<form onsubmit="done.textContent = [...new FormData(this).values()].join('|'); return false">
<label>Name <input name=n></label><label>Email <input type=email name=e></label>
<label>Age <input type=number name=a></label>
<label>Message <textarea name=m></textarea></label><label><input type=checkbox name=s value=yes> Subscribe</label>
<label for=plan>Plan</label> <select name=p id=plan><option>Free</option><option>Paid</option></select>
<label><input type=radio name=r value=red> Red</label><label><input type=radio name=r value=blue> Blue</label>
<button>Submit</button><input type=reset value="Start over"></form><output id=done></output>"""

    async def play(agent: Agent) -> None:
        for name, text in (("Name", "Janice"), ("Email", "janice@mail.example"), ("Age", "21"), ("Message", "Hello")):
            assert (await agent.write(name, text)).startswith("Succeed:")
        await agent.click("Subscribe")
        await agent.choose("Plan", "Paid")
        await agent.click("Blue")
        await agent.click("Submit")
        assert await agent.js("done.textContent") == "Janice|janice@mail.example|21|Hello|yes|Paid|blue"
        await agent.click("Start over")
        assert await agent.js("document.querySelector('[name=n]').value") == ""

    run(body, way, play)


# ---- the mouse: test_mouse_down_up, test_forced_actions


def test_a_drag_to_the_same_point_presses_and_releases(run):
    async def play(agent: Agent) -> None:
        place = await agent.place("I have a bike")
        await agent.call(("drag", {"x1": place["x"], "y1": place["y"], "x2": place["x"], "y2": place["y"]}))
        assert await agent.js("bike.checked")

    run(CHECKBOXES, POINT, play)


def test_files_are_dragged_between_lists(run):
    body = """<p style="height:60px"><span draggable=true style="background:#eee;padding:10px" id=item>Item</span></p>
<div id=to style="height:9em" ondragover="event.preventDefault()" ondrop="this.append(item)">To</div>"""

    async def play(agent: Agent) -> None:
        await agent.call(("drag", {"x1": 30, "y1": 20, "x2": 300, "y2": 180}))
        assert await agent.js("item.parentElement.id") == "to"
        assert "Item" in agent.text

    run(body, POINT, play)


@WAYS
def test_a_styled_checkbox_under_its_label_is_checked(run, way):
    body = """<style>.c { position: relative; display: inline-block; padding-left: 30px }
.c input { position: absolute; left: 0; opacity: 0; z-index: -1 }
.c span::before { content: ''; position: absolute; left: 0; width: 20px; height: 20px; border: 1px solid }</style>
<div class=c><input type=checkbox id=sports><label for=sports><span>Sports</span></label></div>"""

    async def play(agent: Agent) -> None:
        await agent.click("Sports")
        assert await agent.js("sports.checked")

    run(body, way, play)


@WAYS
def test_a_covered_button_is_not_pressed_and_the_cover_is_named(run, way):
    body = """<button style="position:absolute;left:100px;top:100px;width:100px;height:40px"
  onclick="this.textContent = 'hit'">Buy</button>
<div id=cover style="position:absolute;left:90px;top:90px;width:120px;height:60px;background:#ccc">Wait</div>"""

    async def play(agent: Agent) -> None:
        place = {"x": 150 / 0.8, "y": 120 / 0.6} if way == POINT else await agent.place("Buy")
        line = (await agent.call((agent.tool("click"), place)))[0]
        assert await agent.js("document.querySelector('button').textContent") == "Buy"
        assert "<button>" not in line

    run(body, way, play)
