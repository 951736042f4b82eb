from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.judge import parse_verdict, verdict_text
from components.judge.verdicts import BLOCKED, KEEP, STATUS, VerdictForm, read
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
    ("Verdict: SUCCESS ✅", S),
    ("✅ **Verdict: SUCCESS**", S),
    ("Verdict: ❌ NOT SUCCESS", F),
    ("All is there.\n- Verdict: SUCCESS", S),
    ("1. It failed.\n2. **Verdict:** NOT SUCCESS", F),
    ("\\boxed{Verdict: SUCCESS}", S),
    ("Verdict: $\\boxed{\\text{NOT SUCCESS}}$", F),
    ("Verdict: \\boxed{SUCCESS}.", S),
    ("Verdict: SUCCESS<|im_end|>", S),
    ("Verdict: NOT SUCCESS\n</s>", F),
    ("Verdict: SUCCESS <end_of_turn>", S),
    ("Verdict: NOT SUCCESS\n\n---", F),
    ("Verdict: SUCCESS\n***\n", S),
    ("Verdict：SUCCESS。", S),
    ("Ｖｅｒｄｉｃｔ：ＮＯＴ　ＳＵＣＣＥＳＳ", F),
    ("Thoughts: The cart is empty. Verdict: NOT SUCCESS", F),
    ("<thinking>SUCCESS?</thinking>\nVerdict: NOT SUCCESS", F),
    ("📝 Verdict: SUCCESS ✨", S),
    ("Verdict: 👍🏽 SUCCESS!", S),
    ("🙅🏽\u200d♀\ufe0f Verdict: NOT SUCCESS", F),
    ('Verdict: ["SUCCESS"].', S),
    ("Verdict: 🆂🆄🅲🅲🅴🆂🆂", S),
    ("Verdict: ⓃⓄⓉ SUCCESS", F),
    ("Verdict: 🅽🅾🆃 SUCCESS", F),
    ("Verdict: 🄽🄾🅃 SUCCESS", F),
    # endings that contradict themselves, or are not the judge's
    ("Verdict: SUCCESS ❌", U),
    ("Verdict: NOT SUCCESS ✅", U),
    ("End with one of\n- Verdict: SUCCESS\n- Verdict: NOT SUCCESS", U),
    ("Thoughts: I would say Verdict: NOT SUCCESS. Verdict: SUCCESS", U),
    ("Thoughts: The page reads Verdict: SUCCESS", U),
    ("The banner says. Verdict: SUCCESS", U),
    ("<thinking>It looks right.\nVerdict: SUCCESS", U),
    ("<REASONING>\nVerdict: SUCCESS\n---", U),
    ("Verdict: SUCCESS\n❌", U),
    ("☑ Verdict: NOT SUCCESS\n☐ Verdict: SUCCESS", U),
    ("Verdict: [x] NOT SUCCESS\nVerdict: [ ] SUCCESS", U),
    ("● Verdict: NOT SUCCESS\n◦ Verdict: SUCCESS", U),
    ("Verdict: NOT SUCCESS ☐", U),
    ("Verdict: \\boxed{SUCCESS} or \\boxed{NOT SUCCESS}", U),
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
    ("End with one of\nVerdict: NOT SUCCESS\nVerdict: SUCCESS", U),
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


MARKS = [
    "",
    "**",
    "✅ ",
    "❌ ",
    "- ",
    "> ",
    "# ",
    "`",
    "\n",
    " ",
    "。",
    "\n---",
    "<|im_end|>",
    "\n</s>",
    "：",
    "\\boxed{",
    "}",
]
WORDS = ["}", "not ", "NOT ", "un", "Thoughts: x. ", "Verdict: ", "</think>", "<think>"]
DECORATION = st.sampled_from([*MARKS, *WORDS])


@given(st.lists(DECORATION, max_size=3), st.sampled_from(["SUCCESS", "NOT SUCCESS"]), st.lists(DECORATION, max_size=3))
def test_no_decoration_swaps_the_verdict(before: list[str], word: str, after: list[str]) -> None:
    text = "".join(before) + f"Verdict: {word}" + "".join(after)
    is_negated = "not" in "".join(before + after).lower() or "un" in before + after
    outcome = parse_verdict(text)[0]
    assert outcome in ((S, U) if word == "SUCCESS" else (F, U)) or is_negated


@given(st.text(max_size=40), st.sampled_from(["think", "thinking", "THOUGHT", "reasoning", "scratchpad"]))
def test_nothing_inside_of_unclosed_reasoning_is_a_verdict(thoughts: str, tag: str) -> None:
    assert parse_verdict(f"<{tag}>{thoughts}\nVerdict: SUCCESS")[0] is U or "</" in thoughts


@pytest.mark.parametrize(
    ("opened", "closed"),
    [
        ("[THINK]", "[/THINK]"),
        ("◁think▷", "◁/think▷"),
        ("<seed:think>", "</seed:think>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
        ("<think >", "</think >"),
        ("<think lang='en'>", "</think>"),
    ],
)
def test_reasoning_of_any_model_must_be_closed_before_the_verdict(opened: str, closed: str) -> None:
    assert parse_verdict(f"{opened}\nfoo\nVerdict: SUCCESS")[0] is U
    assert parse_verdict(f"{opened}\nfoo\n{closed}\nVerdict: SUCCESS")[0] is S


NEGATED = [
    "!{}",
    "! {}",
    "[ ] {}",
    "[] {}",
    "[!{}]",
    "☐ {}",
    "✕ {}",
    "☒{}",
    "🚷 {}",
    "🙅🏽 {}",
    "⒩⒪⒯ {}",
    "{} ✕",
    "{} ☐",
    "{} [ ]",
]


@pytest.mark.parametrize("negated", NEGATED)
@pytest.mark.parametrize(
    ("label", "word", "form"), [("Status", "SUCCESS", STATUS), ("Blocked", "YES", BLOCKED), ("Keep", "YES", KEEP)]
)
def test_a_word_with_a_sign_that_negates_it_is_unparsed(negated: str, label: str, word: str, form: VerdictForm) -> None:
    assert read(f"{label}: {negated.format(word)}", form)[0] is None
