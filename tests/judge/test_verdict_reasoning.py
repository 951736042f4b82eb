"""Text inside of an unclosed reasoning block is no verdict, with any name and mark."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.judge import parse_verdict
from components.judge.reasoning_blocks import reasoning_of
from components.records import Outcome

S, F, U = Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED

UNCLOSED = [
    *("<think>", "<Think>", "<think", "< think >", "<think lang='en'>", "<THINKING>", "<thoughts_>", "<think_fast>"),
    *("<reasoning_process>", "<chain_of_thought>", "<inner_thoughts>", "<internal_monologue>", "<cot>", "<plan>"),
    *("<deliberation>", "<analysis>", "<reflection>", "<scratchpad>", "<seed:think>", "<思考>", "<!-- thinking -->"),
    *("<|thinking|>", "<|think|>", "<|START_THINKING|>", "<|begin_of_thought|>", "<｜begin▁of▁thought｜>", "◁think▷"),
    *(
        "<|channel|>analysis<|message|>",
        "<|channel|>commentary<|message|>",
        "<|channel>thought\n",
        "<unused94>thought\n",
    ),
    *(
        "<|im_start|>thinking\n",
        "[THINK]",
        "[REASONING]",
        "[inner thoughts]",
        "【思考】",
        "```thinking\n",
        "~~~ reasoning\n",
        "Well: ```thinking\n",
    ),
    *("&lt;think&gt;", "＜think＞", "<t\u200bhink>", "\\u003cthink\\u003e", "{thinking}"),
    # closes that are none
    *("<think>a</THINK", "<think>The page says '</think>'", "<think>a<think>b</think>", "<think>a</reflection>"),
    *("<think><reflection>a</reflection>", "<|channel|>analysis<|message|>a<|end|>", "<think>a[/THINK]"),
]
CLOSED = [
    *("<think>a</think>", "<think >a</think >", "a</think>", "<think>\n<think>a</think>", "<seed:think>a</seed:think>"),
    *("<think><reflection>a</reflection></think>", "<|START_THINKING|>a<|END_THINKING|>", "◁think▷a◁/think▷"),
    *("<|thinking_start|>a<|thinking_end|>", "<|begin_of_thought|>a<|end_of_thought|>", "＜think＞a＜/think＞"),
    *("&lt;think&gt;a&lt;/think&gt;", "[THINK]a[/THINK]", "[REASONING]\na\n[/REASONING]", "```thinking\na\n```\n"),
    *("```thinking\na\n```python\nb\n```\n```\n", "<unused94>thought\na<unused95>", "<|channel>thought\na<channel|>"),
    "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|channel|>analysis<|message|>a<|channel|>commentary<|message|>b<|channel|>final<|message|>",
]
ORDINARY = [
    *(
        "I think the analysis of the [ThinkPad X1] is right.",
        "[Reason for return] is filled in.",
        "Reasoning: all there.",
    ),
    *(
        "See [analysis](http://a.example).",
        "a < b and I think c > d",
        "The <b>thought</b> counts.",
        "[Analytics] is open.",
    ),
    *(
        "### Analysis",
        "**Reasoning**",
        "(thinking)",
        '{"thought": "a"}',
        "```\nanalysis\n```",
        "Commentary [1]",
        "【结论】",
    ),
    *("<|assistant|>Thoughts: all there.", "《思考，快与慢》 is in the cart."),
]


@pytest.mark.parametrize("opened", UNCLOSED)
def test_nothing_in_unclosed_reasoning_is_a_verdict(opened: str) -> None:
    for word in ("SUCCESS", "NOT SUCCESS"):
        assert parse_verdict(f"{opened}\nfoo\nVerdict: {word}")[0] is U


@pytest.mark.parametrize("block", CLOSED)
def test_a_verdict_after_closed_reasoning_counts(block: str) -> None:
    assert parse_verdict(f"{block}\nVerdict: SUCCESS")[0] is S
    assert parse_verdict(f"{block}The cart is empty.\nVerdict: NOT SUCCESS") == (F, "The cart is empty.")


@pytest.mark.parametrize("text", ORDINARY)
def test_text_that_mentions_reasoning_outside_of_marks_is_ordinary(text: str) -> None:
    assert parse_verdict(f"{text}\nVerdict: SUCCESS") == (S, text)


NAMES = st.sampled_from(
    ["think", "Thought", "reasoning", "analysis", "REFLECT", "scratchpad", "monologue", "commentary"]
)
AFFIXES = st.text("abcxyz_-", max_size=6)


@given(NAMES, AFFIXES, AFFIXES, st.sampled_from(["<%s>", "<|%s|>", "&lt;%s&gt;", "＜%s＞", "<%s a='b'>", "```%s\n"]))
def test_a_mark_with_a_name_of_the_class_opens_reasoning(name: str, before: str, after: str, mark: str) -> None:
    assert parse_verdict(f"{mark % (before + name + after)}a\nVerdict: SUCCESS")[0] is U


@given(st.lists(st.sampled_from(["<think>", "</think>"]), max_size=8))
def test_each_open_mark_needs_a_close_of_its_own(tags: list[str]) -> None:
    depth = 0
    for tag in tags:
        depth = max(0, depth + (1 if tag == "<think>" else -1))
    assert reasoning_of("a".join(tags)).is_open is (depth > 0)


@pytest.mark.parametrize(
    "part", ["<", "<think ", "<|", "[of ", "```", "begin_", "<a-", "<think", "think", "\n", "_a", "( "]
)
def test_a_long_text_is_read_in_linear_time(part: str) -> None:
    start = time.process_time()
    parse_verdict(part * (20_000 // len(part)) + "\nVerdict: SUCCESS")
    assert time.process_time() - start < 2
