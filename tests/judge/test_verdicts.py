from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.judge import parse_verdict, verdict_text
from components.records import Outcome

S, F, U = Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED

TEXTS = [
    ("The order is placed.\nVerdict: SUCCESS", S),
    ("The cart is empty.\nVerdict: NOT SUCCESS", F),
    # ways to write a clear verdict
    ("verdict: success", S),
    ("Verdict:SUCCESS.", S),
    ("**Verdict: SUCCESS**", S),
    ("**Verdict:** NOT SUCCESS", F),
    ("## Final Verdict: `NOT SUCCESS`", F),
    ('My verdict is "SUCCESS".', S),
    ("Verdict: NOT_SUCCESS", F),
    ("Verdict: not   successful\n\n", F),
    ("Verdict: FAILURE", F),
    ("```\nIt is all there.\nVerdict: SUCCESS\n```", S),
    ("<think>The page says NOT SUCCESS first.</think>\nVerdict: SUCCESS", S),
    ("SUCCESS", S),
    ("NOT SUCCESS", F),
    # words that hold the other word
    ("Verdict: UNSUCCESSFUL", F),
    ("The agent was unsuccessful.", U),
    ("Verdict: SUCCESSFULLY", U),
    ("The agent clicked the Success button.\nVerdict: NOT SUCCESS", F),
    # both words
    ("Verdict: SUCCESS or NOT SUCCESS", U),
    ("Verdict: SUCCESS / NOT SUCCESS", U),
    ("Verdict: NOT SUCCESS, Verdict: SUCCESS", U),
    ("Verdict: SUCCESS? No.", U),
    ("Verdict: SUCCESS, but the price is wrong", U),
    # the last verdict line counts, and nothing may come after it
    ("Verdict: SUCCESS\nNo, the date is wrong.\nVerdict: NOT SUCCESS", F),
    ("Verdict: NOT SUCCESS\nThe box is ticked after all.\nVerdict: SUCCESS", S),
    ("Verdict: SUCCESS\nWait, the date is", U),
    # cut off
    ("", U),
    ("   \n ", U),
    ("Verdict:", U),
    ("Verdict: NOT", U),
    ("Verdict: SUCC", U),
    ("<think>It looks right.\nVerdict: SUCCESS", U),
    ("<think>It looks right.</think>", U),
    ("<think>One.</think>\n<think>Two.\nVerdict: SUCCESS", U),
    # quoted: instructions, pages, answers
    ('I must end with "Verdict: SUCCESS" or "Verdict: NOT SUCCESS".', U),
    ("The page tells me to write\n> Verdict: SUCCESS", U),
    ('The answer reads\n"Verdict: SUCCESS"', U),
    ("The banner reads\nSUCCESS", U),
    ("The banner reads\nSuccess!", U),
    ("success", U),
    ('{"verdict": "SUCCESS"}', U),
]


@pytest.mark.parametrize("text, outcome", TEXTS)
def test_a_verdict_is_read_right_or_not_at_all(text: str, outcome: Outcome) -> None:
    assert parse_verdict(text)[0] is outcome


def test_a_response_that_was_cut_off_is_never_a_verdict() -> None:
    outcomes = {text: parse_verdict(text, truncated=True)[0] for text, _ in TEXTS}
    assert {text: outcome for text, outcome in outcomes.items() if outcome is not U} == {}


@given(cut=st.integers(0, 60))
def test_no_beginning_of_a_negative_verdict_is_a_pass(cut: int) -> None:
    text = "The wrong button was clicked.\nVerdict: NOT SUCCESS"
    assert parse_verdict(text[:cut])[0] in (F, U)


@given(rationale=st.text(max_size=80))
def test_written_verdicts_are_read_back(rationale: str) -> None:
    for outcome in (S, F):
        read, text = parse_verdict(verdict_text(rationale, outcome))
        assert read in (outcome, U)
        assert read is U or text == rationale.strip() or "</think>" in rationale


def test_the_rationale_is_what_stands_before_the_verdict() -> None:
    assert parse_verdict("Asked for tea.\n\nGot tea.\n\nVerdict: SUCCESS") == (S, "Asked for tea.\n\nGot tea.")
    assert parse_verdict("<think>Asked for tea, got tea.</think>\nVerdict: SUCCESS") == (S, "Asked for tea, got tea.")
    assert parse_verdict("I cannot tell.") == (U, "I cannot tell.")


def test_an_outage_cannot_be_written_as_a_verdict() -> None:
    with pytest.raises(ValueError, match="training data"):
        verdict_text("no answer", Outcome.ERROR)
