from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from components.judge.rules.matching import bare, includes, plain, same


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("Yes", "yes"),
        ("Yes", " Yes. "),
        ("Sprite", '"Sprite"'),
        ("Sprite", "'Sprite.'"),
        ("Quest Lumaflex™ Band", "Quest Lumaflex Band"),
        ("What’s on", "What's on"),
        ("a – b", "a - b"),
        ("Erik Linder-Norén", "Erik Linder-Nore\u0301n"),
        ("one two", "one\u00a0 two"),
        ("47.00", "47"),
        ("3053.97", "3,053.97"),
        ("1234567", "1,234,567"),
        ("748m", "748 m".replace(" ", "")),
        ("git clone ssh://git@metis.lti.cs.cmu.edu:2222/a/b.git", "git clone ssh://git@gitlab.example:2224/a/b.git"),
    ],
)
def test_equal_answers_match_despite_their_form(reference, answer):
    assert same(reference, answer)


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("Sprite", "Sprite Stasis Ball"),
        ("06516", "6516"),
        ("47.01", "47.1"),
        ("1.2.30", "1.2.3"),
        ("a", ""),
        ("ssh://git@a:1/x/y.git", "ssh://git@a:1/x/z.git"),
    ],
)
def test_different_answers_do_not_match(reference, answer):
    assert not same(reference, answer)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("'a' and 'b'", "'a' and 'b'"),  # two quotations are no pair of marks around the whole
        ("'", "'"),
        ('"', '"'),
        (".", "."),
        ("\"'a'\"", "a"),
        ("“a”.", "a"),
        ('""', '""'),
    ],
)
def test_quotation_marks_are_removed_only_around_the_whole(answer, kept):
    assert bare(answer) == kept


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("2", "There are 2 of them."),
        ("2", "2"),
        ("0", "0 reviews"),
        ("914", "914km"),
        ("39.64", "It was $39.64."),
        ("182.4", "$182.40"),
        ("745.00", "$745"),
        ("3053.97", "$3,053.97"),
        ("299", "order 000000299"),
        ("Lo", "Lo, Chen and Chu"),
        ("nike", "Nike's"),
        ("16x24", "size 16x24,"),
        ("N/A", "n/a"),
        ("a11yproject.com", "byteblaze/a11yproject.com"),
        ("T. Gannon", "Rachel and T. Gannon."),
        ("85", "between 1.46 and 85."),
    ],
)
def test_an_answer_that_contains_the_phrase_matches(phrase, text):
    assert includes(phrase, text, words=True)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("16", "in 2016"),
        ("65", "165"),
        ("5.49", "$15.49"),
        ("5.49", "5.495"),
        ("2", "2.5"),
        ("5", "2.5"),
        ("3", "$3,053.97"),
        ("0", "10"),
        ("Lo", "Lopez"),
        ("Yes", "yesterday"),
        ("nike", "unlike"),
        ("a b", "a c b"),
        ("x", ""),
    ],
)
def test_an_answer_with_a_similar_phrase_does_not_match(phrase, text):
    assert not includes(phrase, text, words=True)


@pytest.mark.parametrize("text", ["-5", "It is -5", "−5", "(-5)", '"-5"', "-$5", "$-5", "minus 5"])
def test_a_number_with_a_minus_sign_is_another_number(text):
    assert not includes("5", text, words=True)
    assert not includes("$5", text, words=True)
    assert includes("-5", "It is −5.", words=True)


@pytest.mark.parametrize("text", ["- 5", "A-5", "4-5", "Yes —5 items", "Yes --5 items", "10 minus 5 is 5", "(412)-5"])
def test_a_hyphen_or_a_dash_before_a_number_is_no_minus_sign(text):
    assert includes("5", text, words=True)


def test_on_a_page_words_may_continue_and_numbers_may_not():
    assert includes("mouth guard", "<b>mouth guards</b>", words=False)
    assert includes("1000", "<td>1,000.00</td>", words=False)
    assert not includes("80", "<td>180</td>", words=False)


TEXT = st.text(st.sampled_from("aB.,' \"19’™–0\u00a0ﬁİß½²") | st.characters(codec="utf-8"), max_size=12)


@given(TEXT)
def test_normalising_a_spelling_twice_changes_nothing(text):
    assert plain(plain(text)) == plain(text)


@given(TEXT)
@example('"0«')
def test_a_text_equals_itself_in_quotation_marks_and_with_a_full_stop(text):
    assert same(text, text)
    if bare(text) and not set("'\"") & set(plain(text)):  # marks around marks are no pair around the whole
        assert same(text, f'"{text}".')


@given(st.text("ab1.", min_size=1, max_size=4), st.text("ab1. ", max_size=4), st.text("ab1. ", max_size=4))
def test_a_match_by_words_is_also_a_match_on_a_page(phrase, before, after):
    text = before + phrase + after
    assert not includes(phrase, text, words=True) or includes(phrase, text, words=False)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_number_is_in_an_answer_only_if_it_is_that_number(wanted, given_):
    assert includes(str(wanted), f"It is {given_:,}.", words=True) == (wanted == given_)
