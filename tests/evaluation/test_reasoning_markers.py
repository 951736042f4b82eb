"""The four reasoning markers find what table 10 of OpenWebRL says that they find, and count by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.evaluation import ReasoningMarker, success
from components.evaluation.episodes import join_verdicts
from components.evaluation.reasoning_markers import Step, markers_of, summarise
from components.records import Outcome
from tests.evaluation.run_records import DONE, trajectory, turn, verdict

H, B, R, P = ReasoningMarker.HISTORY, ReasoningMarker.BLOCKER, ReasoningMarker.RETRY, ReasoningMarker.PROOF

# the paper's example phrases (appendix D, table 10), in sentences of ours
PHRASES = [
    ("I’ve tried three queries.", {H}),
    ("We already checked the archive.", {H}),
    ("The previous attempt returned nothing.", {H}),
    ("So far I have two names.", {H}),
    ("After multiple approaches nothing works.", {H}),
    ("It seems all sources failed.", {H}),
    ("There is a CAPTCHA on the page.", {B}),
    ("Cloudflare shows its page.", {B}),
    ("The server says 403 Forbidden.", {B}),
    ("It says verification required.", {B}),
    ("An anti-bot wall.", {B}),
    ("It detects automated access.", {B}),
    ("I cannot solve verification puzzles, I cannot solve the verification.", {B}),
    ("One final approach: the sitemap.", {R}),
    ("Try a different search.", {R}),
    ("Perhaps an alternative source has it.", {R}),
    ("I will go back to the list.", {R}),
    ("I can search directly for the model.", {R}),
    ("Let me reconsider.", {R}),
    ("The blue one meets the requirements.", {P}),
    ("Now all criteria met.", {P}),
    ("The first condition is the colour.", {P}),
    ("At $45 it fits, since under $50 was asked.", {P}),
    ("The hotel is within 5 miles, which matches.", {P}),
    ("It is gluten-free, confirmed by the label.", {P}),
]
INNOCENT = [
    "",
    "The button is at the top, I click it.",
    "I need shoes under $50.",
    "The constraint is a gluten-free dish. I look at the menu.",
    "Condition: new. I press the filter.",
    "The page lists blocks of text.",
    "I verify nothing yet. The price must be below $20.",
]


@pytest.mark.parametrize(("text", "expected"), PHRASES, ids=[text for text, _ in PHRASES])
def test_an_example_phrase_is_marked(text, expected):
    assert set(markers_of(text)) == expected
    assert set(markers_of(text.upper())) == expected


@pytest.mark.parametrize("text", INNOCENT)
def test_a_plain_step_has_no_marker(text):
    assert markers_of(text) == ()


def test_a_step_may_have_several_markers():
    assert set(markers_of("I have already tried twice and Cloudflare blocks it. Try another site.")) == {H, B, R}


@given(st.text(max_size=300))
def test_any_text_can_be_marked(text):
    assert set(markers_of(text)) <= set(ReasoningMarker)


def test_shares_and_lengths_count_the_steps_with_a_marker():
    steps = [
        Step(markers=(H,), tokens=300, characters=1),
        Step(markers=(H, B), tokens=500, characters=1),
        Step(markers=(), tokens=100, characters=1),
        Step(markers=(), tokens=200, characters=1),
    ]
    found = summarise(steps)
    assert (found.steps, found.unit) == (4, "tokens")
    assert {name: (one.steps, one.share, one.length_mean) for name, one in found.of.items()} == {
        "history_summarization": (2, 0.5, 400),
        "blocker_diagnosis": (1, 0.25, 500),
        "retry_plan": (0, 0, None),
        "condition_proof": (0, 0, None),
    }
    assert (found.any.share, found.none.share, found.none.length_mean) == (0.5, 0.5, 150)


def test_lengths_are_in_characters_if_any_step_lacks_tokens():
    steps = [Step(markers=(), tokens=0, characters=10), Step(markers=(), tokens=90, characters=30)]
    assert (summarise(steps).unit, summarise(steps).none.length_mean) == ("characters", 20)


def test_only_text_before_the_call_is_read():
    typed = (
        turn(0, thought="I type the name.")
        .tool_calls[0]
        .model_copy(update={"name": "write", "arguments": {"text": "captcha cloudflare so far"}})
    )
    of = trajectory(turns=[turn(0, typed, thought="I type the name."), turn(1, DONE, thought="So far so good.")])
    found = success([of], [verdict(of, Outcome.SUCCESS)]).markers
    assert {name: one.steps for name, one in found.of.items() if one.steps} == {"history_summarization": 1}


def test_a_call_without_a_thought_has_no_reasoning():
    call = '<tool_call>{"name": "done", "arguments": {"answer": "a captcha, so access denied"}}</tool_call>'
    responses = [f"<think></think>{call}", f"<think>A captcha blocks me.</think>{call}", "a captcha, and no call"]
    steps = [turn(index, response=response) for index, response in enumerate(responses)]
    episode = trajectory(turns=steps)
    (joined,) = join_verdicts([episode], [verdict(episode)])
    assert [B in step.markers for step in joined.steps] == [False, True, True]
