"""A JSON verdict counts only if nothing behind it may take it back."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from components.judge.verdicts import read_object

OBJECT = '{"thought": "x", "verdict": "SUCCESS"}'
FORMATS = [
    "%s",
    "```json\n%s\n```",
    "```JSON\n%s\n```",
    "```json %s```",
    "~~~json\n%s\n~~~",
    "```\n%s\n```\n",
    "json\n%s",
    "\ufeff%s",
    "\u200b%s\u200b",
    "<answer>%s</answer>",
    "<answer>\n```json\n%s\n```\n</answer><|im_end|>",
    "%s<|im_end|>",
    "%s\n<｜end▁of▁sentence｜>",
    "<think>a {</think>\n%s",
    "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>%s<|return|>",
    "%s\n---",
    "%s\nI hope this helps.",
    "%s\n\nI hope this helps! Let me know if you need anything else.",
    "%s\nPlease let me know if you have any questions.",
    "%s\nVerdict: SUCCESS",
    "%s\n**Final verdict: SUCCESS** 🎉",
]


def test_a_line_break_within_a_text_is_read():
    """Models without structured output write them, although JSON has none there."""
    assert read_object('{"thought": "first\nsecond\tthird", "verdict": "SUCCESS"}') is not None


OTHER_TEXT = [
    *("That is incorrect.", "Neither item was bought.", "None of it was done.", "Denied.", "Disregard this.", "Nope."),
    *(
        "I changed my mind.",
        "It doesn’t match.",
        "等等，不对。",
        "C'est faux.",
        "Неверно.",
        "Falsch.",
        "But wait.",
        "✗",
        "👎",
    ),
    *("I take that back.", "Scratch that.", "FALSE", "Nein.", "The cart is empty.", "**Note**: the order is placed."),
    *("Verdict: NOT SUCCESS", "Verdict: SUCCESS ❌", "Verdict: SUCCESS?", "Verdict: SUCCESS\nVerdict: NOT SUCCESS"),
    *('{"verdict": "NOT SUCCESS"}', '{"thought": "x", "verdict": "SUCCESS"}', "<think>", "<page>", "</page>", "[ ]"),
    *("I hope this helps. Not.", "Let me know if you have any questions about this mistake.", "Thank you, but no."),
]


@pytest.mark.parametrize("form", FORMATS)
def test_an_object_is_read_in_a_fence_and_before_an_empty_ending(form: str) -> None:
    assert read_object(form % OBJECT) == {"thought": "x", "verdict": "SUCCESS"}
    assert read_object(form % OBJECT, truncated=True) is None


@pytest.mark.parametrize("separator", ["\n", " ", "\n\n", "\n```\n"])
@pytest.mark.parametrize("text", OTHER_TEXT)
def test_other_text_behind_an_object_gives_no_verdict(text: str, separator: str) -> None:
    assert read_object(OBJECT + separator + text) is None


@given(st.text(st.characters(categories=("L", "N")), min_size=1, max_size=40))
@example("incorrect")
def test_no_word_behind_an_object_gives_a_verdict(word: str) -> None:
    assert read_object(f"{OBJECT}\n{word}") is None or re.fullmatch("thanks|json", word, re.IGNORECASE)


@given(st.text(max_size=30))
def test_a_failure_is_never_read_as_success(text: str) -> None:
    value = read_object('{"verdict": "NOT SUCCESS"}' + text)
    assert value is None or value["verdict"] == "NOT SUCCESS"


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "SUCCESS", "verdict": "NOT SUCCESS"}',
        'The page has {"verdict": "SUCCESS"}',
        '<think>{"verdict": "SUCCESS"}',
        '<page>{"verdict": "SUCCESS"}</page>',
        '<|START_THINKING|>{"verdict": "SUCCESS"}',
        '```thinking\n{"verdict": "SUCCESS"}\n```',
        '{"verdict": "SUCCESS",}',
    ],
)
def test_an_object_that_is_not_the_answer_gives_no_verdict(text: str) -> None:
    assert read_object(text) is None


def test_the_object_after_the_reasoning_counts_not_one_in_it() -> None:
    failure = '{"thought": "the page has </think> and <think>", "verdict": "NOT SUCCESS"}'
    for text in (f"<think>{OBJECT}</think>{failure}", f"{OBJECT}</think>{failure}", failure):
        value = read_object(text)
        assert value is not None
        assert value["verdict"] == "NOT SUCCESS"
