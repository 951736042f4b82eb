"""Tools on element ids: where they click, and double clicks, drags, keys and added text."""

from __future__ import annotations

import asyncio
import re

import pytest

from components.browser import BrowserPool
from components.browser.tools import ALL_TOOLS, check_call
from tests.browser.conftest import PARAMS, task

FILLER = "<p>filler</p>" * 60


@pytest.fixture
def use(pages):
    """`use(body, (tool, arguments by names), …)`: the feedback, the title and the page's text after all calls."""

    def play(body: str, *calls: tuple[str, dict[str, object]]):
        url = pages.add("/tools", body)

        async def episode():
            async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
                tree = (await session.start(task(url))).text
                lines = []
                for name, arguments in calls:
                    for key in {"element", "to"} & arguments.keys():
                        line = next(line for line in tree.splitlines() if f'"{arguments[key]}"' in line)
                        arguments = {**arguments, key: line.strip().split("]")[0].strip("[")}
                    call = check_call(name, arguments, ALL_TOOLS)
                    assert call.error is None
                    result = await session.step([call])
                    lines += result.feedback
                return lines, result.observation.tabs[0].title, result.observation.text

        return asyncio.run(episode())

    return play


def test_a_link_over_two_lines_is_hit_on_its_own_rectangle(use):
    body = (
        "<div style='width:300px;font:16px monospace'>some words come before <a href='#' "
        "onclick='document.title=`followed`'>a link that wraps</a> and some come after</div>"
    )
    lines, title, _ = use(body, ("click_element", {"element": "a link that wraps"}))
    assert title == "followed"
    assert '<a> "a link that wraps"' in lines[0]


def test_a_covered_element_is_not_clicked_and_its_cover_is_named(use):
    body = (
        "<button onclick='document.title=`bought`'>Buy</button>"
        "<div role=button style='position:fixed;inset:0;background:#fff'>We use cookies</div>"
    )
    lines, title, _ = use(body, ("click_element", {"element": "Buy"}))
    assert lines[0].startswith("Failed: `click_element` execution failed: element ")
    assert lines[0].endswith(' is covered by <div> role=button "We use cookies".')
    assert title == "a page"


def test_a_click_on_a_select_names_its_options_and_how_to_choose(use):
    body = "<select aria-label=Size><option>Small<option disabled>Medium<option>Large</select>"
    (line,), _, _ = use(body, ("click_element", {"element": "Size"}))
    assert line.endswith('Options: "Small", "Large"; the list is not drawn; `select_option` chooses one.')


def test_a_half_covered_element_is_clicked_where_it_is_free(use):
    body = (
        "<button style='width:200px;height:100px' onclick='document.title=`bought`'>Buy</button>"
        "<div style='position:fixed;left:0;top:0;width:150px;height:200px;background:#fff'>banner</div>"
    )
    assert use(body, ("click_element", {"element": "Buy"}))[1] == "bought"


def test_a_control_under_its_own_label_is_clicked(use):
    body = (
        "<label style='position:relative'><input type=checkbox onchange='document.title=`on`'>"
        "<span style='position:absolute;inset:0;background:#ccc'></span>Agree</label>"
    )
    assert use(body, ("click_element", {"element": "Agree"}))[1] == "on"


@pytest.mark.parametrize("behaviour", ["auto", "smooth"])
def test_an_id_works_after_its_element_left_the_view(use, behaviour):
    style = f"<style>html {{ scroll-behavior: {behaviour} }}</style>"
    body = f"{style}<button onclick='document.title=`pressed`'>First</button>{FILLER * 20}"
    calls = ("scroll", {"direction": "down", "amount": 5}), ("click_element", {"element": "First"})
    assert use(body, *calls)[1] == "pressed"


def test_double_clicks_drags_and_keys_act_on_ids(use):
    body = """
    <button ondblclick="document.title += ' double'">Twice</button>
    <div draggable=true role=button ondragstart="event.dataTransfer.setData('text', 'x')">Card</div>
    <div role=button style="height:50px" ondragover="event.preventDefault()"
      ondrop="event.preventDefault(); document.title += ' dropped'">Bin</div>
    <div tabindex=0 role=slider aria-label=Volume onkeydown="document.title += ' ' + event.key">v</div>
    """
    lines, title, _ = use(
        body,
        ("click_element", {"element": "Twice", "click_type": "double"}),
        ("drag_element", {"element": "Card", "to": "Bin"}),
        ("press_element", {"element": "Volume", "keys": ["right", "End"]}),
    )
    assert title == "a page double dropped ArrowRight End"
    assert lines[1].startswith("Succeed: `drag` from (")
    assert lines[2].startswith("Succeed: `press_keys` ['ArrowRight', 'End'] executed.")


@pytest.mark.parametrize(("modifiers", "held"), [("ctrl+shift", "cs"), (["alt"], "a"), ([], "")])
def test_a_click_on_an_id_holds_its_modifiers_and_releases_them(use, modifiers, held):
    body = (
        "<button onclick=\"document.title += '-' + (event.ctrlKey ? 'c' : '') + (event.shiftKey ? 's' : '')"
        " + (event.altKey ? 'a' : '')\">Row</button>"
    )
    calls = ("click_element", {"element": "Row", "modifiers": modifiers}), ("click_element", {"element": "Row"})
    assert use(body, *calls)[1] == f"a page-{held}-"


def test_a_click_on_the_id_of_a_link_with_ctrl_opens_a_tab(use, pages):
    pages.add("/second", "second", title="second")
    lines, title, _ = use("<a href=/second>Next</a>", ("click_element", {"element": "Next", "modifiers": ["ctrl"]}))
    assert "tab 1" in lines[0]
    assert title == "a page"


def test_a_drag_over_more_than_a_view_is_refused(pages):
    card = "<button onmousedown='document.title += ` down`'>Card</button>"
    url = pages.add("/far", f"{card}{FILLER * 3}<button onmouseup='document.title += ` up`'>Bin</button>")

    async def episode():
        async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
            (card,) = re.findall(r'\[(\w+)\].*"Card"', (await session.start(task(url))).text)
            end = check_call("scroll", {"direction": "down", "amount": 10})
            (bin,) = re.findall(r'\[(\w+)\].*"Bin"', (await session.step([end])).observation.text)
            return await session.step([check_call("drag_element", {"element": card, "to": bin}, ALL_TOOLS)])

    result = asyncio.run(episode())
    assert "are not in view together" in result.feedback[0]
    assert result.observation.tabs[0].title == "a page"


@pytest.mark.slow
def test_text_is_added_cleared_and_written_in_lines(use):
    body = (
        "<input aria-label=Name value=Ada><textarea aria-label=Note>one</textarea>"
        "<form onsubmit='document.title=`sent`; return false'><input aria-label=Search value=old></form>"
    )
    lines, title, tree = use(
        body,
        ("write_element", {"element": "Name", "text": " Lovelace", "clear": False}),
        ("write_element", {"element": "Note", "text": "two\nthree"}),
        ("write_element", {"element": "Search", "text": "a\nb"}),
        ("write_element", {"element": "Name", "text": ""}),
    )
    assert title == "a page"
    assert lines[0] == 'Succeed: `write_element` typed " Lovelace" into <input> "Name".'
    assert "differs" not in lines[1]
    assert "takes one line" in lines[2]
    assert [part in tree for part in ('"Name" value', '"Note" value "two three"', '"Search" value "a b"')] == [
        False,
        True,
        True,
    ]


def test_what_takes_no_text_or_option_is_said(use):
    body = (
        "<input aria-label=Fixed readonly value=x><button>Go</button>"
        "<select aria-label=Size><option disabled>S</select>"
    )
    lines, _, _ = use(
        body,
        ("write_element", {"element": "Fixed", "text": "y"}),
        ("write_element", {"element": "Go", "text": "y"}),
        ("select_option", {"element": "Size", "option": "S"}),
        ("select_option", {"element": "Size", "option": "XL"}),
    )
    assert [line.partition("element ")[2].partition(" ")[2] for line in lines] == [
        "is disabled or read-only.",
        "takes no text.",
        "or this option of it, is disabled.",
        'has no option "XL".',
    ]


def test_elements_in_a_frame_of_another_origin_are_acted_on(use, pages):
    pages.add("/inner", "<p>inner</p><button onclick='parent.postMessage(1, `*`)'>Inside</button>")
    other = pages.origin.replace("127.0.0.1", "localhost")
    script = "<script>onmessage = () => document.title = 'inside'</script>"
    body = f"<h1>Outer</h1><iframe src='{other}/inner'></iframe>{script}"
    assert use(body, ("click_element", {"element": "Inside"}))[1] == "inside"


def test_options_are_chosen_beside_others_and_rejections_are_said(use):
    body = (
        "<select multiple size=3 aria-label=Colours><option>red<option>green<option>blue</select>"
        "<select aria-label=Size onchange='value = `S`'><option>S<option>L</select>"
    )
    lines, _, _ = use(
        body,
        ("select_option", {"element": "Colours", "option": "red"}),
        ("select_option", {"element": "Colours", "option": "blue"}),
        ("select_option", {"element": "Size", "option": "L"}),
    )
    assert lines[1].startswith('Succeed: `select_option` chose "blue". Selected: "red, blue".')
    assert 'chose "L". Note: the field\'s actual value is "S", which differs from the chosen option.' in lines[2]


def test_a_text_that_is_no_option_or_several_lists_those_near_to_it(use):
    lands = [f"Land {index:03} (+{index})" for index in range(250)]
    lands[180] = "Norway (+47)"
    groups = "".join(f"<optgroup label={name}><option value={name}>Other</optgroup>" for name in ("Tents", "Boots"))
    body = (
        f"<select aria-label=Code><option>{'<option>'.join(lands)}</select>"
        f"<select aria-label=Kind onchange='document.title=value'>{groups}</select>"
        "<select aria-label=Size><option>S<option>L</select>"
    )
    lines, title, _ = use(
        body,
        ("select_option", {"element": "Code", "option": "Norway"}),
        ("select_option", {"element": "Kind", "option": "Other"}),
        ("select_option", {"element": "Kind", "option": "Boots: Other"}),
        ("select_option", {"element": "Size", "option": "XL"}),
    )
    assert lines[0].endswith(' has no option "Norway"; its 250 options include "Norway (+47)".')
    assert lines[1].endswith(' has several options "Other": "Tents: Other", "Boots: Other".')
    assert title == "Boots"
    assert lines[3].endswith(' has no option "XL"; its options are "S", "L".')


def test_an_element_in_a_frame_of_a_smoothly_scrolling_page_is_hit(use, pages):
    inner = (
        "<div style='height:1600px;padding-top:200px'><button onclick='top.document.title = `inside`'>Inside</button>"
    )
    frame = f"<iframe src='{pages.add('/tall', inner)}' width=600 height=1800></iframe>"
    body = (
        f"<style>html {{ scroll-behavior: smooth }}</style>{frame}<div style='height:1500px'></div>"
        "<button onclick='document.title = `banner`' "
        "style='position:fixed;top:0;left:0;width:700px;height:30px'>Banner</button>"
    )
    calls = ("scroll", {"direction": "down", "amount": 1.5}), ("click_element", {"element": "Inside"})
    assert use(body, *calls)[1] == "inside"


def test_an_element_that_stays_out_of_view_is_not_clicked(use):
    body = (
        "<button onclick='setTimeout(() => away.style.left = `-500px`, 100)'>Hide</button>"
        "<button id=away style='position:fixed;left:0;top:300px'>Away</button>"
        "<div style='position:fixed;left:0;top:250px;width:50px;height:200px' onclick='document.title = `edge`'></div>"
    )
    lines, title, _ = use(body, ("click_element", {"element": "Hide"}), ("click_element", {"element": "Away"}))
    assert lines[1].endswith("is outside of the view and cannot be scrolled into it.")
    assert title == "a page"


def test_what_covers_a_frame_of_another_origin_is_named(use, pages):
    pages.add("/inner", "<button>Inside</button>")
    other = pages.origin.replace("127.0.0.1", "localhost")
    cover = "<div role=button onclick='document.title = `covered`' style='position:fixed;inset:0'>Overlay</div>"
    lines, title, _ = use(f"<iframe src='{other}/inner'></iframe>{cover}", ("click_element", {"element": "Inside"}))
    assert lines[0].endswith(' is covered by <div> role=button "Overlay".')
    assert title == "a page"


def test_a_value_that_a_field_does_not_take_hides_no_dialog(use):
    body = "<input type=date aria-label=Day onfocus=\"alert('Closed on Sundays')\">"
    ((line,), _, _) = use(body, ("write_element", {"element": "Day", "text": "whenever"}))
    assert line.startswith('Failed: `write_element` execution failed: "whenever" is no value')
    assert line.endswith('A dialog (alert) said "Closed on Sundays" and was confirmed.')
