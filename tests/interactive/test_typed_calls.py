"""A line that a person types becomes the calls that a model would have written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.browser.tools import TOOLS, check_call, named_tools
from components.interactive.typed_calls import TypedLineError, read_line


@pytest.mark.parametrize(
    ("line", "name", "arguments"),
    [
        ("click 512 86", "click", {"x": 512, "y": 86}),
        ("click 51.5 86 right", "click", {"x": 51.5, "y": 86, "button": "right"}),
        ("click 1 2 click_type=double", "click", {"x": 1, "y": 2, "click_type": "double"}),
        ('write "red tent"', "write", {"text": "red tent"}),
        ("write red tent", "write", {"text": "red tent"}),
        ("write 'a; b # c'", "write", {"text": "a; b # c"}),
        ("write text=red", "write", {"text": "red"}),
        ('write "text=red"', "write", {"text": "text=red"}),
        ('write "text=red" tent', "write", {"text": "text=red tent"}),
        ("write 'it is' clear=false", "write", {"text": "it is", "clear": False}),
        ("press_keys ctrl+a Delete", "press_keys", {"keys": ["ctrl+a", "Delete"]}),
        ("scroll down", "scroll", {"direction": "down"}),
        ("scroll up 2 500 500", "scroll", {"direction": "up", "amount": 2, "x": 500, "y": 500}),
        ("goto_url shop.example/a#b", "goto_url", {"url": "shop.example/a#b"}),
        ("click 1 2 modifiers=ctrl", "click", {"x": 1, "y": 2, "modifiers": ["Control"]}),
        ("write text=b clear=false", "write", {"text": "b", "clear": False}),
        ("drag 1 2 3 4", "drag", {"x1": 1, "y1": 2, "x2": 3, "y2": 4}),
        ("switch_tab 1", "switch_tab", {"index": 1}),
        ("done it's five", "done", {"answer": "it's five"}),
        ("write C:\\temp", "write", {"text": "C:\\temp"}),
        ("write a  b", "write", {"text": "a  b"}),
        ("done it costs 5 euros", "done", {"answer": "it costs 5 euros"}),
        ("done", "done", {}),
    ],
)
def test_a_line_is_a_call_with_typed_arguments(line, name, arguments):
    turn = read_line(line, TOOLS)
    assert [(call.name, call.arguments) for call in turn.calls] == [(name, arguments)]
    assert turn.thought == ""


def test_an_apostrophe_does_not_hide_the_next_call_or_the_thought():
    turn = read_line("write it's red; press_keys Enter  # that's all", TOOLS)
    assert [call.arguments for call in turn.calls] == [{"text": "it's red"}, {"keys": ["Enter"]}]
    assert turn.thought == "that's all"


def test_semicolons_separate_calls_and_the_thought_comes_last():
    turn = read_line("click 1 2; write \"it's red\"  # find the tent; it's cheap", TOOLS)
    assert [call.name for call in turn.calls] == ["click", "write"]
    assert turn.calls[1].arguments == {"text": "it's red"}
    assert turn.thought == "find the tent; it's cheap"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("clik 1 2", "there is no tool 'clik'"),
        (
            "click 1",
            r"click: y is missing; it is typed as `click X Y \[BUTTON\] \[CLICK_TYPE\] \[modifiers=MODIFIERS\]`$",
        ),
        ("click 1 2 left single more", "too many arguments: more"),
        ("click a b", "click: x: "),
        ('write "open', "no closing quotation"),
        ("# only a thought", "has no call"),
        ("scroll around", "scroll: direction: "),
    ],
)
def test_a_wrong_line_says_how_to_type_it(line, message):
    with pytest.raises(TypedLineError, match=message):
        read_line(line, TOOLS)


PIECES = st.sampled_from([*TOOLS, "x=", "text=", "1", "-1.5", "nan", "ctrl", *"\"'=;#\\  "]) | st.text(max_size=3)


@given(st.text() | st.builds("{} {}".format, st.sampled_from(sorted(TOOLS)), st.lists(PIECES).map("".join)))
def test_no_line_raises_another_error(line):
    try:
        turn = read_line(line, TOOLS)
    except TypedLineError:
        return
    assert all(check_call(call.name, call.arguments).error is None for call in turn.calls)


def test_protocols_with_ids_are_typed_with_ids():
    tools = named_tools(element_ids=True)
    assert read_line("click 12", tools).calls[0].arguments == {"element": "12"}
    assert read_line('write 12 "red tent"', tools).calls[0].arguments == {"element": "12", "text": "red tent"}
    assert read_line("drag 3 7", tools).calls[0].arguments == {"element": "3", "to": "7"}
    press = read_line("press ctrl+a Delete 4", tools).calls[0]
    assert press.arguments == {"keys": ["ctrl+a", "Delete"], "element": "4"}


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("write 12 sign on", {"text": "sign on"}),
        ("write 12 it's red", {"text": "it's red"}),
        ("write 12 red tent submit=true", {"text": "red tent", "submit": True}),
        ("write 12 submit=true 'red  tent'", {"text": "red  tent", "submit": True}),
        ('write 12 "clear=all"', {"text": "clear=all"}),
    ],
)
def test_a_text_after_an_id_is_the_rest_of_the_line(line, arguments):
    turn = read_line(line, named_tools(element_ids=True))
    assert turn.calls[0].arguments == {"element": "12", **arguments}
