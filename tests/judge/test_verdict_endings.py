"""Endings that people and models write leave the verdict as it is; what contradicts it gives none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.judge import parse_verdict
from components.judge.verdict_lines import sign
from components.judge.verdicts import STATUS, read, read_score
from components.records import Outcome

S, F, U = Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED

# `%s` is the verdict, with its label
AROUND = [
    *(
        "%s<｜end▁of▁sentence｜>",
        "%s<end_of_utterance>",
        "%s <|endoftext|><|im_end|>",
        "%s [/INST]",
        "%s</s>\n<|eot_id|>",
    ),
    *("%s\n━━━", "%s\n───", "%s\n————", "%s\n~~~", "%s\n— — —", "%s\n####", "%s\n=====\n", "%s\n```\n---", "%s\n<br>"),
    *("%s\n\nI hope this helps!", "%s\nThank you.\n", "%s\n\nLet me know if you have any questions.\n---\n</s>"),
    *("<b>%s</b>", "<strong>%s</strong>."),
    *("· %s", "○ %s", "■ %s", "➤ %s", "★ %s", "→ %s", "⁃ %s", "a) %s", "(1) %s", "1️⃣ %s", "- [x] %s", "- 1. %s"),
    *("\\(\\boxed{%s}\\)", "\\[\\boxed{\\text{%s}}\\]", "$$\\boxed{\\textbf{%s}}$$", "\\[\n\\boxed{\\texttt{%s}}\n\\]"),
    *(
        "（%s）",
        "(%s).",
        "**(%s)**",
        "【%s】",
        "<answer>%s</answer>",
        "<answer>\n%s\n</answer>",
        "\ufeff%s",
        "%s\u200b",
    ),
    *("🔥 %s", "%s 🔥", "📦 **%s** 📦", "%s\n---\n🔥", "__%s__", "_%s_"),
]
# `%s` is the word
WORDS = [
    *(
        "Verdict: 「%s」",
        "Verdict: 『%s』",
        "Verdict: (%s)",
        "Verdict: «%s»",
        "Verdict: \\texttt{%s}",
        "__Verdict__: %s",
    ),
    *(
        "**Verdict:**\n%s",
        "### Verdict\n\n**%s**",
        "__Final verdict:__\n\n- %s",
        "Verdict: \\(\\boxed{%s}\\)",
        "「%s」",
    ),
    "<verdict>%s</verdict>",
    *("Verdict: <b>%s</b>", "<b>Verdict:</b> %s", "Verdict: <STRONG>%s</STRONG>.", "<b>Verdict:</b> <em>%s</em>"),
]
# `{}` is the label
CONTRADICTORY = [
    *("○ {} NOT SUCCESS\n○ {} SUCCESS", "a) {} NOT SUCCESS\nb) {} SUCCESS", "🔹 {} NOT SUCCESS\nor\n🔹 {} SUCCESS"),
    *("{} SUCCESS\nor\n{} NOT SUCCESS", "{} NOT SUCCESS\nor\n{} SUCCESS", "**{} NOT SUCCESS**\n\nor\n\n**{} SUCCESS**"),
    *("1️⃣ {} SUCCESS\n2️⃣ {} NOT SUCCESS", "{} NOT SUCCESS\n\n{} SUCCESS", "{} NOT\nSUCCESS", "**{}** ❌\nSUCCESS"),
    *("{} SUCCESS\n👎", "{} SUCCESS\n🤷", "{} NOT SUCCESS\n🎉", "- [ ] {} SUCCESS", "( ) {} SUCCESS", "□ {} SUCCESS"),
    *("{} 🈚 SUCCESS", "{} 🚯 SUCCESS", "{} 🔞 SUCCESS", "🆖 {} SUCCESS", "{} SUCCESS 🇳🇴", "{} ¬SUCCESS", "{} S̶UCCESS"),
    *("{} \\cancel(SUCCESS)", "{} \\not SUCCESS", "{} ~~SUCCESS~~", "{} <del>SUCCESS</del>", "{} () SUCCESS"),
    *(
        "{} ____ SUCCESS",
        "{} (NOT) SUCCESS",
        "{} \u202eSUCCESS",
        "<page>{} SUCCESS</page>",
        "「{} SUCCESS」",
        "{} SUCCESS <|no|>",
    ),
    *(
        "{} NOT\n\n{} SUCCESS",
        "{} NOT.\n{} SUCCESS",
        "**{}** no\n{} SUCCESS",
        "{} not a\n{} SUCCESS",
        "{} UN-\n{} SUCCESS",
    ),
    *("{} NOT\n\n{} SUCCESS\nI hope this helps!", "{} SUCCESS\nI hope this helps! Not.", "{} SUCCESS\nThanks, but no."),
    *("{} <s>SUCCESS</s>", "{} <b><del>SUCCESS</del></b>", "{} <b>SUCCESS</b> <b>NOT</b>"),
    *("The {}\nSUCCESS?", "Verdict\nSUCCESS", "{} SUCCESS\n[ ]"),
]


@pytest.mark.parametrize("form", AROUND)
def test_what_is_around_a_verdict_leaves_it_as_it_is(form: str) -> None:
    assert parse_verdict("It is all there.\n\n" + form % "Verdict: SUCCESS")[0] is S
    assert parse_verdict("It is not there.\n\n" + form % "Verdict: NOT SUCCESS")[0] is F


@pytest.mark.parametrize("form", WORDS)
def test_what_is_around_the_word_leaves_it_as_it_is(form: str) -> None:
    assert parse_verdict(form % "SUCCESS")[0] is S
    assert parse_verdict(form % "NOT SUCCESS")[0] is F


@pytest.mark.parametrize("form", CONTRADICTORY)
def test_what_contradicts_a_verdict_gives_none(form: str) -> None:
    assert parse_verdict("It ends so.\n" + form.replace("{}", "Verdict:"))[0] is U


def test_a_label_above_the_word_is_not_part_of_the_rationale() -> None:
    assert parse_verdict("It is all there.\n\n**Verdict:**\nSUCCESS") == (S, "It is all there.")


@pytest.mark.parametrize(
    ("emoji", "success", "failure"),
    [
        *((emoji, S, U) for emoji in "✅🎊🙌😀🚀👌💪🥳👏🏅🟩"),
        *((emoji, U, F) for emoji in "❌👎😞❗🚫💔🟥⛔😢💩"),
        *((emoji, S, F) for emoji in "📝🔥📦🛒🎲⚡"),
        *((emoji, U, U) for emoji in "☐❓🤷🤔⬜🔙⏳🏳🟡"),
    ],
)
def test_an_emoji_behind_a_verdict_may_not_contradict_it(emoji: str, success: Outcome, failure: Outcome) -> None:
    assert parse_verdict(f"Verdict: SUCCESS {emoji}")[0] is success
    assert parse_verdict(f"Verdict: NOT SUCCESS {emoji}")[0] is failure


EMOJI = st.sampled_from([chr(code) for code in range(0x2000, 0x1FB00) if sign(chr(code)) is not None])
MARKS = st.sampled_from([*" *_`#-()[]{}「」<>|~.!\n", "\\boxed{", "1. ", "</s>", "\u200b", "---"])
DECORATION = st.lists(st.one_of(EMOJI, MARKS), max_size=6).map("".join)


@given(DECORATION, DECORATION, DECORATION, st.sampled_from(["SUCCESS", "NOT SUCCESS", "UNSUCCESSFUL"]))
def test_no_sign_or_mark_swaps_the_verdict(before: str, inside: str, after: str, word: str) -> None:
    right = S if word == "SUCCESS" else F
    assert parse_verdict(f"{before}Verdict: {inside}{word}{after}")[0] in (right, U)
    assert parse_verdict(f"{before}Verdict: NOT{inside}SUCCESS{after}")[0] in (F, U)


@given(st.text(max_size=30), st.sampled_from(["NOT", "not", "UN", "no"]))
def test_no_text_between_turns_a_negated_word_into_success(text: str, negation: str) -> None:
    assert parse_verdict(f"Verdict: {negation}{text}SUCCESS")[0] is not S


STATUSES = [
    ('Thoughts: The box is ticked. Status: "success"', True),
    ("Thoughts: Nothing was sent; Status: failure", False),
    ("Thoughts: The cart has the item, Status: success", True),
    ("Thoughts: Is it all there? Status: failure", False),
    ("Thoughts: All done! **Status: success**", True),
    ("Thoughts: all done。Status: success", True),
    ("Thoughts：all done。 Status：failure", False),
    ("**Thoughts:** all done. **Final status:** success", True),
    ("Thoughts: done. The status: failure", False),
    ("Thoughts: done. (Status: success)", True),
    ("Thoughts: The order status is shipped. Status: success", True),
    ("Thoughts: The verdict is clear. Status: failure", False),
    # doubtful
    ("Thoughts: it says Status: success. Status: failure", None),
    ("Thoughts: The status is failure. Status: success", None),
    ("Thoughts: The verdict would be a success. Status: failure", None),
    ("Thoughts: The page says, Status: success", None),
    ("Thoughts: The banner reads. Status: success", None),
    ('Thoughts: The page says "done. Status: success', None),
    ("Thoughts: If the date were right, Status: success", None),
    ("Thoughts: the order status: success", None),
    ("Thoughts: done.Status: success", None),
    ("Thoughts: done Status: success", None),
    ("All done. Status: success", None),
    ("Status: success. Thoughts: all done", None),
    ("Thoughts: unclear", None),
]


@pytest.mark.parametrize(("text", "decision"), STATUSES)
def test_a_status_may_be_on_the_line_of_the_thoughts(text: str, decision: bool | None) -> None:
    assert read(text, STATUS)[0] is decision


def test_a_negated_label_above_a_failure_leaves_it_as_it_is() -> None:
    assert parse_verdict("Verdict: NOT\n\nVerdict: NOT SUCCESS")[0] is F


def test_a_closing_phrase_is_not_part_of_the_rationale() -> None:
    assert parse_verdict("It is all there.\n\nVerdict: SUCCESS\n\nI hope this helps!") == (S, "It is all there.")
    assert read_score("Good.\nScore: 4\nThank you!") == (4, "Good.")
