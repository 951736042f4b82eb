"""The response format (OpenWebRL, A.4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.agent import format_call, format_response, parse_response

CLICK = format_call("click", x=512, y=86)
BAD = '<tool_call>{"name": "click", "arguments": {"x": "left"}}</tool_call>'


def test_a_response_is_read_as_it_was_written():
    parsed = parse_response(format_response("go", [CLICK, format_call("done", answer="42")]))
    assert parsed.thought == "go"
    assert [(call.name, call.arguments) for call in parsed.calls] == [
        ("click", {"x": 512, "y": 86}),
        ("done", {"answer": "42"}),
    ]
    assert parsed.error is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no closing </think>"),
        (f"<think>go {CLICK}", "no closing </think>"),
        ("<think>go</think>", "no <tool_call>"),
        ("<think>go</think> click 5 5", "no <tool_call>"),
        (f"<think>go</think>{BAD}", "no call could be parsed"),
        ("<think>go</think><tool_call>{</tool_call>", "not JSON"),
        ("<think>go</think><tool_call>[1]</tool_call>", "a call is"),
        ('<think>go</think><tool_call>{"name": "fly", "arguments": {}}</tool_call>', "unknown tool"),
        ('<think>go</think><tool_call>{"name": "click", "arguments": 3}</tool_call>', "arguments must be an object"),
        ('<think>go</think><tool_call>{"name": "done", "parameters": {"answer": "42"}}</tool_call>', "a call is"),
        ('<think>go</think><tool_call>{"name": "done", "answer": "42"}</tool_call>', "a call is"),
    ],
)
def test_an_unparsable_turn_says_why(text, problem):
    assert problem in (parse_response(text).error or "")


def test_arguments_that_are_nested_too_deeply_are_an_error_of_the_call():
    for depth in (100, 500, 600, 900, 5000):
        nested = f"{'[' * depth}{']' * depth}"
        parsed = parse_response(f'<tool_call>{{"name": "write", "arguments": {{"text": {nested}}}}}</tool_call>')
        assert parsed.error, depth


def test_a_call_may_have_no_arguments():
    for more in ("", ', "id": "call_1"', ', "type": "function", "index": 0'):
        (call,) = parse_response(f'<think>go</think><tool_call>{{"name": "new_tab"{more}}}</tool_call>').calls
        assert (call.name, call.error) == ("new_tab", None)


def test_one_bad_call_does_not_discard_its_good_neighbours():
    parsed = parse_response(f"<think>go</think>{CLICK}{BAD}{CLICK}")
    assert parsed.error is None
    assert [call.error is None for call in parsed.calls] == [True, False, True]


def test_thinking_may_be_opened_by_the_prompt():
    parsed = parse_response(f"go there</think>\n{CLICK}")
    assert (parsed.thought, parsed.error) == ("go there", None)


def test_calls_in_the_reasoning_are_not_run():
    parsed = parse_response(f"<think>I could {format_call('close_tab')}</think>{CLICK}")
    assert [call.name for call in parsed.calls] == ["click"]


def test_a_call_cut_off_before_its_end_tag_is_read_if_it_is_whole():
    assert parse_response(f"<think>go</think>{CLICK.removesuffix('</tool_call>')}").error is None


@given(
    st.text(max_size=400)
    | st.lists(
        st.sampled_from(
            ["<think>", "</think>", "<tool_call>", "</tool_call>", '{"name":', '"click"', "}", "[" * 50, "\x00"]
        )
    ).map("".join)
)
def test_any_response_is_parsed_to_a_typed_outcome(text):
    parsed = parse_response(text)
    assert parsed.error is not None or any(call.error is None for call in parsed.calls)
