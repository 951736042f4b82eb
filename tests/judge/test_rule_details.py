"""Dates, addresses, numbers of pages, asked units and compass letters beside a right answer, on published rows."""

from __future__ import annotations

import pytest

from components.judge.rules.asked_units import in_asked_unit, with_signs
from components.judge.rules.conditions import Exactly, Includes, Unachievable, WebArenaRule
from components.judge.rules.details import without_details
from components.judge.rules.webarena import judge_webarena
from components.records import Outcome
from tests.judge.test_rule_candidates import wins
from tests.judge.webarena_episodes import PUBLISHED, right, rows, rule_of_row

WEBARENA = PUBLISHED / "webarena_812.raw.json"
pytestmark = pytest.mark.skipif(not WEBARENA.exists(), reason="the published files are not here")


def row_of(number: int, name: str = WEBARENA.name) -> dict:
    return next(row for row in rows(PUBLISHED / name) if row["task_id"] == number)


def asks(question: str, phrases: list[str], answer: str) -> Outcome:
    """The outcome of an answer to a question of VisualWebArena, whose file is not here."""
    rule = WebArenaRule(answer=[Includes(phrases=[phrases])], ends_at=None, pages=[])
    return judge_webarena(rule, question, answer, None)[0]


GDP = "What is the 2022 total nominal GDP of the area that produces most sugarcane in the year of 2021? (in billion)?"
INCOME = (
    "What is the absolute difference between NVIDIA's FY22 net income in wikipedia and 'dataisbeautiful' (in billions)?"
)
ASSETS = (
    "What was the total asset value (in trillions of USD, to 3 decimal places) of the fifth largest employer in China?"
)
UNITS = [
    (GDP, ["39000", "39,000"], "$39,000 billion"),
    (GDP, ["39000", "39,000"], "The GDP of Asia in 2022 is $39,000 billion."),
    (INCOME, ["5.35"], "5.35 billion"),
    ("How many views (in thousands)?", ["6"], "6 thou"),
    ("How many views (in millions)?", ["6"], "6 mil"),
    (INCOME, ["5.35"], "$5.35B"),
    (INCOME, ["5.35"], "$9.75 billion - $4.4 billion = $5.35 billion"),
    (ASSETS, ["0.585"], "0.585 trillion USD"),
    (ASSETS, ["0.585"], "$0.585278 trillion"),
]


@pytest.mark.parametrize(("question", "phrases", "answer"), UNITS)
def test_a_number_in_the_unit_that_the_task_names_is_right(question, phrases, answer):
    assert asks(question, phrases, answer) is Outcome.SUCCESS
    assert asks("How large is it?", phrases, answer) is Outcome.FAILURE


@pytest.mark.parametrize("answer", ["39 trillion", "$39,000 million", "39,000 thousand", "39,000 trillion"])
def test_a_number_in_another_unit_than_the_task_names_is_wrong(answer):
    assert asks(GDP, ["39000", "39,000"], answer) is Outcome.FAILURE


def test_an_exact_number_may_have_the_unit_that_the_task_names():
    rule = WebArenaRule(answer=[Exactly(text="5.35")], ends_at=None, pages=[])
    assert judge_webarena(rule, INCOME, "5.35 billion", None)[0] is Outcome.SUCCESS
    assert judge_webarena(rule, INCOME, "5.35 million", None)[0] is Outcome.FAILURE


def test_a_unit_that_the_reference_has_stays():
    assert in_asked_unit("5 billion", INCOME, ["5 billion"]) == "5 billion"


FORMS = [
    "As of 2023-06-12, {}",
    "As of 06/12/2023, {}",
    "As of June 12, 2023, {}",
    "As of 2023-06-12 10:30, {}",
    "{}, 2023-06-12",
    "{}, see https://a.b/c/12/34?p=5&q=6",
    "{} [source](http://localhost:7780/admin/review?page=2)",
    "Page 3, {}",
    "On page 3 of 17: {}",
    "In 2022, {}",
    "In Q1 2022, {}",
    "Step 1: open. Step 2: search. Step 3: {}",
    "I looked at 2 pages and found {}",
    "I checked 4 orders. {}",
    "The last 7 days: {}",
    "{} (not 17)",
    "The answer is {}. I checked 2 pages and 14 rows.",
]


@pytest.mark.parametrize("form", FORMS)
def test_a_right_answer_with_a_detail_beside_it_is_right(form):
    answered = [row for row in rows(WEBARENA) if row["eval"]["eval_types"] == ["string_match"]]
    included = [row for row in answered if [*row["eval"]["reference_answers"]] == ["must_include"]]
    possible = [row for row in included if not isinstance(rule_of_row(row).answer[0], Unachievable)]
    refused = [row["task_id"] for row in possible if not wins(row, form.format(right(row).answer))]
    assert len(possible) == 172
    assert refused == []


@pytest.mark.parametrize("number", range(36, 41))
def test_the_number_of_an_order_beside_a_yes_is_a_detail(number):
    assert wins(row_of(number), "For order #187, Yes")
    assert not wins(row_of(number), "For order #187, No")
    assert not wins(row_of(number), "0, Yes")


def test_the_number_of_an_order_is_the_answer_where_its_id_is_asked_for():
    assert wins(row_of(199), "Order 299, page 2")
    assert wins(row_of(199), "#299")
    assert not wins(row_of(199), "Order 187")


@pytest.mark.parametrize(
    "answer", ["On 2023-02-06 there were 0 reviews", "page 6: 0 reviews", "0, see http://a.b/6", "0 of 6", "0:06"]
)
def test_a_number_that_stands_in_a_detail_alone_is_no_answer(answer):
    assert not wins(row_of(11), answer)


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [("v6", "6"), ("v2.1", "2.1"), ("version 2.1", "2.1"), ("ver. 6", "6"), ("Version 6.1 (V6)", "6.1")],
)
def test_a_version_is_no_number_unless_a_version_is_asked_for(answer, phrase):
    assert asks("How many reviews are there?", [phrase], f"It is {answer}") is Outcome.FAILURE
    assert asks("How many reviews are there?", [phrase], f"{phrase} (as of v9.3)") is Outcome.SUCCESS
    assert asks("How many reviews are there?", [f"v{phrase}"], f"It is v{phrase}") is Outcome.SUCCESS
    for question in ("Which version is installed?", "What is the newest release?", "What is the git tag?"):
        assert asks(question, [phrase], f"It is {answer}") is Outcome.SUCCESS


def test_a_date_or_an_address_that_is_asked_for_stays():
    date, address = "2023-06-12", "http://a.b/6"
    assert without_details(f"On {date}, 6", [[date]], "") == f"On {date}, 6"
    assert without_details(f"6, see {address}", [[address]], "") == f"6, see {address}"
    assert without_details("May 31, 2023, 12 orders", [["31"]], "On which day?") == "May 31, 2023, 12 orders"


COORDINATES = [
    *(("webarena_812.raw.json", number) for number in range(248, 253)),
    ("webarena_lite_165.raw.json", 60),
    *(("webarena_lite_train_647.json", number) for number in range(188, 192)),
]


@pytest.mark.parametrize(("name", "number"), COORDINATES)
def test_coordinates_may_have_letters_in_place_of_signs(name, number):
    row = row_of(number, name)
    north, west = row["eval"]["reference_answer_raw_annotation"].replace("-", "").split(", ")
    assert wins(row, f"{north}° N, {west}° W")
    assert wins(row, f"Latitude: {north}°N\nLongitude: {west}°W")
    assert wins(row, f"N {north}, W {west}")
    assert not wins(row, f"{north}° S, {west}° W")
    assert not wins(row, f"{north}° N, {west}° E")
    assert not wins(row, f"{north}, {west}")


def test_letters_of_other_answers_are_no_compass():
    assert with_signs("3.125 s", ["3.125"]) == "3.125 s"
