"""Numbers in answers: which spellings are the same number, and which digits go on to be another one."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from components.judge.rules.conditions import WebArenaRule
from components.judge.rules.matching import includes, same
from components.judge.rules.specs import rule_of
from components.judge.rules.webarena import judge_webarena
from components.records import Outcome


@pytest.mark.parametrize("text", [".6", "$.6", "6,5", "6k", "6 k", "6K", "6e3", "1'006", "1\u202f006", "6½", "6²",
                                  "6 million", "6 thousand", "6bn", "0.6", "6.5", "6'5",
                                  "6·5", "6٫5", "6×10³", "6 x 10^3", "6*10", "6_000", "6 M", "6 mn", "6 Mio", "6 lakh",
                                  "6-and-a-half", "3×6", "6M", "6MM", "6T", "6G", "6L", "6cr", "6kk", "6.e3",
                                  "6،5", "6 thou", "6thou", "6 mil", "6mil", "6 Tsd", "6 Tsd.", "6万", "6 万", "6千",
                                  "6亿", "6億", "6萬", "6兆", "6만", "6..7", "6...7", "6…7", "5..6", "5…6", "6.…7"
                                  ])  # fmt: skip
def test_digits_that_go_on_are_another_number(text):
    assert not includes("6", text, words=True)
    assert not includes("6", f"There are {text} left", words=False)


@pytest.mark.parametrize("text", ["negative 6", "It is Negative 6.", "negative $6", "minus $6", "minus 6"])
def test_a_number_that_is_negative_in_words_is_another_number(text):
    assert not includes("6", text, words=True)
    assert not includes("$6", text, words=True)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("6", "6... no more"),
        ("6", "Wait... 6"),
        ("6", "I counted…6"),
        ("6", "6千克"),
        ("6", "6 thousandths"),
        ("6", "6 miles"),
        ("6", "No negatives: 6"),
        ("6 mil", "6 mil"),
        ("6", "No.6"),
        ("6", "6, 5 and 4 were sold"),
        ("6", "6km"),
        ("6", "6 kilometres"),
        ("6", "**6**"),
        ("6.5", "6½"),
        ("6", "٦"),
        ("16", "१६"),
        ("6.5", "٦٫٥"),
        ("6", "6 m"),
        ("6", "6 L"),
        ("6M", "6 million"),
        ("115.10", "Firefox 115.10"),
        ("182.4", "Total 182.40"),
        ("6", "6 · 5 of them are open"),
        ("1006", "1'006"),
        ("1006", "'1,006'"),
        ("1006", "There are `1,006` of them"),
        ("1006", "1\u202f006"),
        ("914km", "914 km"),
        ("914 km", "It is 914km."),
        ("2.0km", "2 km"),
        ("35149", "35,149"),
        ("Sprite Ball", "It is the **Sprite Ball**."),
    ],
)
def test_spellings_of_the_same_number_match(phrase, text):
    assert includes(phrase, text, words=True)


@pytest.mark.parametrize(
    ("reference", "answer"),
    [("914km", "914 km"), ("2.2km", "2.2 km"), ("42", "**42**"), ("42", "__42__."), ("42", "*42*"), ("7min", "7 min"),
     ("5.5 GB", "5.50GB"), ("40.442", "40.4424191")],
)  # fmt: skip
def test_marks_and_spaces_around_a_number_do_not_matter(reference, answer):
    assert same(reference, answer)


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("2.1", "2.10"),
        ("2.10", "2.1"),
        ("version 20.1", "version 20.10"),
        ("v3", "v3.0"),
        ("php8.1", "php8.10"),
        ("15.1", "15.10"),
        ("GitLab 18.1", "GitLab 18.10"),
        ("15.1", "15.100"),
        ("v15.10", "v15.1"),
        ("115.1", "Firefox 115.10"),
        ("100.1", "Android build 100.10"),
    ],
)
def test_versions_are_not_numbers(reference, answer):
    assert not same(reference, answer)
    assert not includes(reference, answer, words=True)


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("182.4", "182.40"),
        ("$5.5", "$5.50"),
        ("47", "47.00"),
        ("2.1 km", "2.10 km"),
        ("15.10", "15.1"),
        ("Total: 54.20", "total: 54.2"),
        ("182.40", "182.4"),
        ("40.460", "40.46"),
    ],
)
def test_zeros_at_the_end_of_a_price_do_not_matter(reference, answer):
    assert same(reference, answer)
    assert includes(reference, answer, words=True)


def test_zeros_at_the_end_of_a_number_with_its_currency_do_not_matter():
    assert includes("15.1", "It costs $15.10.", words=True)


def asked_for(*phrases: str) -> dict:
    return {
        "type": "webarena",
        "eval": {"eval_types": ["string_match"], "reference_answers": {"must_include": phrases}},
    }


def outcome(phrases: list[str], answer: str) -> Outcome:
    rule = rule_of(asked_for(*phrases))
    assert isinstance(rule, WebArenaRule)
    return judge_webarena(rule, "", answer, None)[0]


def test_a_comma_separates_numbers_only_if_all_of_them_are_asked_for():
    assert outcome(["35", "149"], "35,149") is Outcome.SUCCESS
    assert outcome(["35149"], "35,149") is Outcome.SUCCESS
    assert outcome(["35"], "35,149") is Outcome.FAILURE
    assert outcome(["35", "148"], "35,149") is Outcome.FAILURE
    assert outcome(["6"], "6,5") is Outcome.FAILURE
    assert outcome(["6", "5"], "6,5") is Outcome.SUCCESS


@pytest.mark.parametrize(
    "phrases",
    [
        ["3,4"],
        ["12,5"],
        ["€ 5,00"],
        ["1,23,456"],
        ["Section 3,4"],
        ["2,3-butanediol"],
        ["40,5%", "1,2,3"],
    ],
)
def test_a_comma_of_a_reference_separates_no_numbers(phrases):
    assert outcome(phrases, f"The answer is {', '.join(phrases)}.") is Outcome.SUCCESS


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.sampled_from(["{:,}", "**{}**", "${:,}.00", "{} km", "({})"]))
@example(6, 1006, "{:,}")
def test_a_number_in_any_spelling_is_that_number_and_no_other(wanted, given_, form):
    text = f"It is {form.format(given_)}."
    assert includes(str(wanted), text, words=True) == (wanted == given_)
    assert includes(str(wanted), text.replace(",", "'"), words=True) == (wanted == given_)


GOES_ON = st.sampled_from(
    ["k", " k", "e3", "E3", "e-3", ",5", ".5", "'006", "½", "⅓", "²", " million", "bn", "0", ",123"]
)


@given(st.integers(1, 10**6), GOES_ON)
@example(3, "e3")
@example(3, "e-3")
def test_a_number_that_goes_on_is_never_the_number(number, rest):
    assert not includes(str(number), f"It is {number}{rest}", words=True)
    assert not includes(str(number), f"It is {number}{rest}", words=False)
    assert not same(str(number), f"{number}{rest}")


@given(st.integers(1, 10**6), st.sampled_from([".", "0.", "3.", "1,", "3'", "0,", "5", "$."]))
@example(6, "1'00")
def test_a_number_that_begins_earlier_is_never_the_number(number, start):
    text = f"It is {start}{number}"
    assume(not (start in ("1,", "3'") and len(str(number)) < 3))  # "1, 6" without its space is judged as it stands
    assert not includes(str(number), text, words=True)


@given(st.integers(-180, 180), st.text("0123456789", min_size=3, max_size=8), st.text("0123456789", max_size=8))
@example(40, "460", "76")
@example(40, "000", "")
def test_a_truncated_number_is_met_by_its_digits_and_more_alone(whole, digits, other):
    reference, answer = f"{whole}.{digits}", f"{whole}.{other}" if other else str(whole)
    is_same = Decimal(reference) == Decimal(answer) or other.startswith(digits)
    assert includes(reference, f"lat {answer}, north", words=True) == is_same
    assert includes(reference, f"lat {answer}, north", words=False) == is_same
    assert same(reference, answer) == is_same or abs(whole) < 10


@given(st.integers(0, 99), st.text("0123456789", min_size=1, max_size=2), st.text("123456789", min_size=1, max_size=3))
def test_a_price_is_not_met_by_more_digits(whole, digits, more):
    assert not includes(f"{whole}.{digits}", f"${whole}.{digits}{more}", words=True)
