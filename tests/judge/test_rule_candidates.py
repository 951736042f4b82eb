"""Answers that decline, or list candidates, do not contain what was asked for; answers with details do."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.judge import rules_verdict
from components.judge.rules.candidates import MAX_WORDS, declines, without_candidates
from components.judge.rules.conditions import Includes, WebArenaRule
from components.judge.rules.matching import includes
from components.judge.rules.webarena import judge_webarena
from components.records import Outcome
from tests.judge.test_webarena_rows import PATHS
from tests.judge.webarena_episodes import episode, ours, reference, right, rows, rule_of_row

DAYS = "2023-01-04, 2023-01-05, 2023-01-06, 2023-01-07"


def has(answer: str, *phrases: str) -> bool:
    return all(includes(phrase, without_candidates(answer, phrases), words=True) for phrase in phrases)


@pytest.mark.parametrize(
    "answer", ["N/A", "n/a.", "N/A. The answer is 6", "'N/A'", "**N/A** - 6", "(N/A) 6", "> N / A, or 6", "Ｎ／Ａ: 6"]
)
def test_an_answer_that_begins_with_na_declines(answer):
    assert declines(answer)


@pytest.mark.parametrize("answer", ["", "6", "N/A/B testing", "The field is N/A", "n/as", "NA", "Nairobi", "No, N/A"])
def test_an_answer_that_only_mentions_na_does_not_decline(answer):
    assert not declines(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "0 1 2 3 4 5 6 7 8 9",
        "0, 1, 2, 3, 4, 5, 6, 7",
        "1\n2\n3\n4\n5\n6",
        "It is 4. It is 5. It is 6. It is 7.",
        "4 orders, 5 orders, 6 orders, 7 orders",
        "4/5/6/7/8",
        "3,4,5,6",
        "0, 6, 1",
        "5 or 6",
        "6 or 7",
        "either 6, 7 or 8",
        "$5, $6, $7 and $8",
        "N/A, " + " ".join(f"maybe{word} {number}" for number, word in enumerate("abcdefghijklmnopqrstuvwxyz")),
    ],
)
def test_a_number_in_a_list_of_candidates_is_no_answer(answer):
    assert not has(answer, "6")


@pytest.mark.parametrize(
    "answer",
    [
        "Yes or no",
        "yes/no",
        "No, yes",
        "Yes, no.",
        "yes | no",
        '"yes" or "no"',
        "**Yes** or **no**",
        "Yes, or no",
        "Yes. No.",
        "yes or maybe no",
        "*Yes* (or *no*)",
    ],
)
@pytest.mark.parametrize("phrase", ["Yes", "no"])
def test_yes_or_no_is_no_answer(answer, phrase):
    assert not has(answer, phrase)


@pytest.mark.parametrize(
    ("answer", "phrases"),
    [
        ("5 orders or 6 orders", ["5", "6", "5 orders"]),
        ("6 orders or 5", ["5", "6"]),
        ("either 1 order or maybe 2 orders", ["1", "2"]),
        ("4 stars or 5 stars", ["4 stars", "5 stars"]),
        ("$4 (or $5)", ["$4", "$5"]),
        ("**4**, maybe **5**", ["4", "5"]),
        ("2023-01-05 or 2023-05-01", ["2023-01-05", "2023-05-01"]),
        (DAYS, DAYS.split(", ")),
        ("10:00, 10:10 and 10:20", ["10:00", "10:10", "10:20"]),
    ],
)
def test_each_of_several_values_that_are_offered_is_no_answer(answer, phrases):
    assert [phrase for phrase in phrases if has(answer, phrase)] == []


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        ("5, 6", "5"),
        ("5 6", "6"),
        ("5\n6", "5"),
        ("It is 5. It is 6.", "5"),
        ("5 orders, 6 orders", "6"),
        ("Model 5 or Model 6", "Model 5"),
        ("$5, $6", "$5"),
        ("5, -5", "5"),
        ("-5 or 5", "5"),
        ("5 or -5", "-5"),
        ("It is yes. It is no.", "yes"),
        ("The answer is yes. The answer is no.", "No"),
        ("Yes and also no", "Yes"),
        ("0 or Yes", "0"),
        ("0 or Yes", "Yes"),
        ("No or 2 orders", "2"),
        ("No or 2 orders", "No"),
        ("0/Yes", "0"),
        ("**0**, maybe **yes**", "Yes"),
        ("0 or 1 or yes", "yes"),
        ("It is 0, or it is yes.", "0"),
        ("My guess: yes or 0.", "0"),
        ("0 or yes or Pittsburgh", "0"),
        ("0, Yes", "0"),
        ("0, Yes", "Yes"),
        ("0 Yes 1 2 Pittsburgh", "1"),
        ("0, Yes, Pittsburgh", "Yes"),
        ("yes, 0", "0"),
        ("5-6", "5"),
        ("5–6", "6"),
        ("6-5", "5"),
        ("5 - 6", "5"),
        ("5 to 6", "6"),
        ("5 to 6 orders", "5"),
        ("between 5 and 6 orders", "6"),
        ("$5-$6", "$5"),
        ("5%-6%", "6%"),
        ("5-6 km", "6 km"),
        ("0-1", "0"),
        ("4.5-5", "5"),
        ("2021-2022", "2022"),
        ("I found 5-6 orders in May.", "5"),
        ("Alice or Bob", "Alice"),
        ("Alice or Bob", "Bob"),
        ("Alice or Bob or Carol", "Bob"),
        ("The best customer is either **Alice** or maybe **Bob**.", "Bob"),
    ],
)
def test_a_whole_answer_that_offers_several_values_is_no_answer(answer, phrase):
    assert not has(answer, phrase)


@pytest.mark.parametrize(
    ("answer", "phrases"),
    [
        ("5, 6", ["5", "6"]),
        ("5 (2022)", ["5"]),
        ("4/5", ["4"]),
        ("5 of 6", ["5"]),
        ("5-6", ["5-6"]),
        ("5-6", ["5", "6"]),
        ("5-6 Main Street", ["5-6 Main Street"]),
        ("5-6 Main Street", ["Main Street"]),
        ("5-6-pack", ["5"]),
        ("#5-6", ["5"]),
        ("2022-03-05", ["2022-03-05"]),
        ("2022-03", ["2022"]),
        ("2022-10", ["2022"]),
        ("10:00-11:00", ["10:00"]),
        ("412-555-0100", ["412-555-0100"]),
        ("555-0100", ["555-0100"]),
        ("Call 555-1234", ["555-1234"]),
        ("Pittsburgh, PA 15213-3890", ["15213"]),
        ("It rose from 5 to 6 in May", ["6"]),
        ("6 - $345.20 in total", ["6"]),
        ("Yes, 5", ["Yes"]),
        ("No, 0", ["0"]),
        ("Yes, 0.5 km", ["Yes"]),
        ("Yes, 170, 180 and 189", ["Yes"]),
        ("Rating 5, no reviews", ["5"]),
        ("2 yes votes", ["2"]),
        ("0 or Yes", ["0", "Yes"]),
        ("Yes or $5", ["Yes", "$5"]),
        ("6 orders, or no more than 7", ["6"]),
        ("LA or Los Angeles or L.A.", ["LA"]),
        ("May 31, 2023", ["31"]),
        ("I found 5 orders on May 7, 2023", ["5"]),
        ("Boston, Massachusetts", ["Boston"]),
        ("Alice or Bob", ["Alice", "Bob"]),
        ("NYC or New York City", ["New York City"]),
        ("Bob or Bob Smith", ["Bob"]),
        ("2 hours or 120 minutes", ["2 hours"]),
        ("Yes, it is open daily or weekly", ["Yes"]),
    ],
)
def test_an_answer_that_could_be_one_value_with_details_is_an_answer(answer, phrases):
    assert has(answer, *phrases)


def test_long_lists_of_names_and_copies_of_pages_are_no_answers():
    names = [f"Name{chr(65 + number)}" for number in range(26)]
    assert not has(", ".join(names), "NameB")
    assert not has("\n".join(names), "NameB")
    assert not has(" ".join([*("word" for _ in range(MAX_WORDS + 1)), "NameB"]), "NameB")
    assert has(", ".join(names), *names)


@pytest.mark.parametrize(
    ("answer", "phrases"),
    [
        ("There are 6 orders: 170, 180, 189, 201 and 299.", ["6"]),
        ("6 (of 2022), for $345.20 in total on May 31, 2023 at 2:55:09", ["6"]),
        ("Hyatt Regency, 1111, Airport Boulevard, Findlay Township, Allegheny County, Pennsylvania, 15231", ["Hyatt"]),
        ("40.442, -79.939", ["40.442", "-79.939"]),
        ("40.4604191, -79.9397388", ["40.460", "-79.939"]),
        ("170, 180, 189 and 201", ["170", "180", "189", "201"]),
        ("170, 180, 189 and 201", ["170", "180"]),
        ("Yes. No fees were charged.", ["Yes"]),
        ("No, there is none, yes?", ["No"]),
        ("Ann, Bob or Cy", ["Ann"]),
        ("3 years or 36,000 miles", ["3 years"]),
        ("2.5 km (or 1.6 miles)", ["2.5 km"]),
        ("6 orders, or 12% of all", ["6"]),
        ("6 orders or 10:30 hours", ["6"]),
        ("2023-01-05 10:30 - 2023-01-05 11:30", ["2023-01-05"]),
        ("01/05/2023, 02/05/2023", ["1/05/2023", "2/05/2023"]),
        ("Yes, No. 5 is open", ["Yes"]),
        ("Yes. No.", ["Yes", "No"]),
        ("Yes or no", ["yes or no"]),
    ],
)
def test_an_answer_with_details_is_an_answer(answer, phrases):
    assert has(answer, *phrases)


TEXT = st.text(st.sampled_from("0123456789ab ,.;/\n-$%’½") | st.characters(codec="utf-8"), max_size=40)


@given(TEXT, st.text("0123456789ab.", min_size=1, max_size=4))
def test_without_candidates_no_text_contains_more(answer, phrase):
    """`,` between numbers that are both asked for is the one exception, and here one phrase is asked for."""
    assert not has(answer, phrase) or includes(phrase, answer, words=True)


SEPARATOR = st.sampled_from(
    [" ", ", ", ",", "\n", "; ", " / ", " or ", " and ", ". ", " | ", " items, ", ". It may be "]
)


@given(st.integers(0, 9), st.integers(4, 60), st.integers(0, 500), SEPARATOR, st.sampled_from(["", "N/A ", "It is "]))
def test_a_list_of_numbers_contains_none_of_them(wanted, length, start, separator, opening):
    answer = opening + separator.join(str(start + number) for number in range(length))
    assert not has(answer, str(start + wanted % length))


@pytest.fixture(params=PATHS, ids=lambda path: path.name)
def answered(request) -> list[dict]:
    """The rows of a file that look at the answer alone."""
    if not request.param.exists():
        pytest.skip("the published files are not here")
    return [row for row in rows(request.param) if row["eval"]["eval_types"] == ["string_match"]]


def wins(row: dict, answer: str) -> bool:
    return rules_verdict(episode(row, answer)).outcome is Outcome.SUCCESS


def test_a_refusal_with_the_answer_behind_it_is_a_refusal(answered):
    asking = [row for row in answered if any(isinstance(part, Includes) for part in rule_of_row(row).answer)]
    hedged = {row["task_id"]: f"N/A. The answer is {right(row).answer}" for row in asking}
    assert [row["task_id"] for row in asking if wins(row, hedged[row["task_id"]])] == []


@pytest.mark.parametrize("separator", [" ", ", ", "\n", ". ", " or ", " is one, "])
@pytest.mark.parametrize("top", [20, 400])
def test_a_constant_list_of_numbers_wins_no_row(answered, separator, top):
    answer = separator.join(str(number) for number in range(top + 1))
    assert [row["task_id"] for row in answered if wins(row, answer)] == []


def test_a_phrase_that_is_na_itself_may_be_answered():
    row = ours(2)
    row["eval"]["reference_answers"] = {"must_include": ["N/A", "none"]}
    assert wins(row, "N/A, none")
    assert reference(rule_of_row(row).answer[0]) == "N/A; none"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("The answer is Boston. " + "Here is how I found it. " * 50, "it has 304 words, 251 are the most"),
        ("Boston, " * 12, "it has 12 items, 11 are the most"),
        (
            "Boston " + " x ".join(str(number) for number in range(100, 125)),
            "it has 25 numbers that were not asked for, 20 are the most",
        ),
        ("N/A. The answer is Boston", 'the answer begins with "N/A"'),
    ],
)
def test_the_rationale_says_why_a_right_phrase_did_not_count(answer, why):
    rule = WebArenaRule(answer=[Includes(phrases=[["Boston"]])], ends_at=None, pages=[])
    outcome, rationale = judge_webarena(rule, "Which city?", answer, None)
    assert outcome is Outcome.FAILURE
    assert why in rationale


def test_the_rationale_names_candidates_only_where_the_phrase_is_one():
    rule = WebArenaRule(answer=[Includes(phrases=[["6"]])], ends_at=None, pages=[])
    assert judge_webarena(rule, "How many?", "5 or 6", None)[1] == (
        'has "6" (only among candidates, which are no answer): no'
    )
    assert judge_webarena(rule, "How many?", "7", None)[1] == 'has "6": no'


"""Rows of WebArena whose intent has a date, by number."""
ADDRESS = ["Fuku Tea", "3716", "Forbes Avenue", "Central Oakland", "Pittsburgh", "653m"]


@pytest.mark.parametrize("row", ["{}. {}", "{}) {}", "#{}: {}", "| {} | {} |"])
@pytest.mark.parametrize("phrases", [ADDRESS, ["6"], ["Yes"]])
def test_the_numbers_of_rows_are_no_candidates(row, phrases):
    assert has("\n".join(row.format(number, phrase) for number, phrase in enumerate(phrases, 1)), *phrases)


@pytest.mark.parametrize("unit", ["0", "1 ", "0.", "yes/", "1 or ", "a. "])
def test_a_very_long_answer_is_refused_at_once(unit):
    start = time.monotonic()
    for length in (4900, 20_000):
        assert not has((unit * length)[:length], "6")
    assert time.monotonic() - start < 2


LINKS = "http://shop.test/admin/sales/order/view/id/65/ and http://shop.test/admin/customer/edit/id/45/"


@pytest.mark.parametrize(
    "answer",
    [
        f"6. I found this on {LINKS}.",
        "There are 6 orders: 01/05/2023, 02/11/2023, 03/07/2023, 04/02/2023 and 05/02/2023.",
    ],
)
def test_slashes_in_addresses_and_dates_separate_no_items(answer):
    assert has(answer, "6")


def test_a_list_of_addresses_is_no_answer():
    addresses = [f"http://shop.test/product/{number}" for number in range(40)]
    assert not has(" ".join(addresses), addresses[7])


def test_a_month_that_is_asked_for_stays_in_its_date():
    assert has("It was placed on May 9, 2023.", "May")
    assert has("5 orders were placed, the first on May 9, 2023.", "May", "5")
