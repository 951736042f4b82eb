import pytest

from components.browser import TOOLS, check_call
from components.browser.keys import normalise_keys
from components.browser.tools import Click, PressKeys, Scroll, parse_arguments


def test_the_action_space_is_the_papers_13_tools():
    assert list(TOOLS) == [
        *("click", "hover", "drag", "write", "press_keys", "scroll", "goto_url", "go_back", "wait"),
        *("new_tab", "switch_tab", "close_tab", "done"),
    ]


def test_arguments_left_out_have_the_usual_meaning():
    assert parse_arguments("click", {"x": 1, "y": 2}) == Click(x=1, y=2, button="left", click_type="single")
    assert parse_arguments("scroll", {"direction": "down"}) == Scroll(direction="down", amount=0.5)


def test_a_single_key_counts_as_a_list_of_one():
    assert parse_arguments("press_keys", {"keys": "Enter"}) == PressKeys(keys=["Enter"])


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("click", {"x": 1}, "y is missing"),
        ("click", {"x": 1, "y": 2, "z": 3}, "unknown argument z"),
        ("click", {"x": "left", "y": 2}, "x: input should be a valid number, unable to parse string as a number"),
        ("scroll", {"direction": "sideways"}, "direction: input should be 'up', 'down', 'left' or 'right'"),
        ("fly", {}, "unknown tool; tools are click, hover"),
    ],
)
def test_wrong_arguments_become_an_error_that_names_the_argument(name, arguments, error):
    call = check_call(name, arguments)
    assert (call.error or "").startswith(error)


@pytest.mark.parametrize(
    ("keys", "pressed"),
    [
        (["ctrl+a"], ["Control+a"]),
        (["ctrl", "a"], ["Control+a"]),
        (["Control+Shift+Tab"], ["Control+Shift+Tab"]),
        (["return"], ["Enter"]),
        (["Tab", "Tab", "esc"], ["Tab", "Tab", "Escape"]),
        (["a", "b"], ["a", "b"]),
        (["ctrl", "a", "delete"], ["Control+a", "Delete"]),
        (["ctrl", "a", "ctrl", "c"], ["Control+a", "Control+c"]),
        (["ctrl", "shift", "tab", "x"], ["Control+Shift+Tab", "x"]),
        (["page_down", "f5"], ["PageDown", "F5"]),
        (["ctrl++"], ["Control++"]),
        (["+"], ["+"]),
        (["\n"], ["Enter"]),
        (["\t", "\r"], ["Tab", "Enter"]),
        ([" "], ["Space"]),
    ],
)
def test_keys_are_normalised(keys, pressed):
    assert normalise_keys(keys) == pressed
