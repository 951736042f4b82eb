"""Of several numbers, or of "yes" and "no", an answer gives at most one; courtesies and dates of the task give none."""

from __future__ import annotations

import pytest

from components.judge import rules_verdict
from components.judge.rules.conditions import Includes, WebArenaRule
from components.judge.rules.webarena import judge_webarena
from components.records import Outcome
from tests.judge.test_rule_candidates import has, wins
from tests.judge.webarena_episodes import PUBLISHED, episode, ours, rows, rule_of_row

DATED = {
    number: ours(2) | {"intent": intent, "eval": ours(2)["eval"] | {"reference_answers": {"must_include": [phrase]}}}
    for number, intent, phrase in (
        (133, "How many commits did Eric make to a11yproject on 3/2?", "2"),
        (206, "How many commits did Eric make on 3/2?", "2"),
        (305, "How many commits did Philip make in 2023/1?", "0"),
        (135, "How many commits did Eric and Kilian make to a11yproject on 1/3/2023?", "1"),
    )
}

LABELLED = "A: Yes. B: No. C: 0. D: 1. E: 2. F: 3. G: 5. H: 6. I: 9. J: 14"


@pytest.mark.parametrize(
    "answer",
    [
        LABELLED,
        "0 apple 1 bean 2 corn 3 dates 4 eggs 5 figs 6 grapes",
        "If A then 0, if B then 1, if C then 2.",
        "First guess 0, second guess 1, third guess 2.",
        "0或1或2",
        "0 alternatively 1, or 2",
        "a) 0 b) 1 c) 2",
        "Option A: 0; option B: 1; option C: 2",
        "zero=0 one=1 two=2",
        "Answer: 0. Answer: 1. Answer: 2.",
        "at least 0, at most 2",
    ],
)
@pytest.mark.parametrize("phrase", ["0", "1", "2"])
def test_a_labelled_list_of_numbers_contains_none_of_them(answer, phrase):
    assert not has(answer, phrase)


@pytest.mark.parametrize("answer", ["A: 1. B: 2. C: 3. D: 4", "3.25 stars, i.e. 3", "65% (3 stars)"])
def test_of_two_alternatives_one_must_be_singled_out(answer):
    rule = WebArenaRule(answer=[Includes(phrases=[["65", "3"]])], ends_at=None, pages=[])
    is_right = judge_webarena(rule, "Which rating?", answer, None)[0] is Outcome.SUCCESS
    assert is_right == ("stars" in answer)


@pytest.mark.parametrize(
    "answer",
    [
        "On June 4, on May 5, by July 6, and March 7 till August 8 of April 9",
        "4 June; maybe 5 May; 6 July",
        "June 4, 2023 May 5, 2023 July 6, 2023 March 7, 2023 August 8, 2023",
        "4 or more, 5 or less, 6 or fewer",
        "from 4/5 to 5/6, on 6/4",
    ],
)
@pytest.mark.parametrize("phrase", ["4", "5", "6"])
def test_a_list_of_days_or_bounds_contains_none_of_them(answer, phrase):
    assert not has(answer, phrase)


@pytest.mark.parametrize("answer", ["0/1", "0 alternatively 1", "0 versus 1", "0 if not 1"])
@pytest.mark.parametrize("phrase", ["0", "1"])
def test_two_guesses_at_a_number_are_no_answer(answer, phrase):
    assert not has(answer, phrase)


@pytest.mark.parametrize(
    "answer",
    [
        LABELLED,
        "Yes, it can. No, it cannot.",
        "Yes it is. However, no it is not.",
        "No, wait, yes",
        "Yes if it is open. No if it is closed.",
        "Yes - or it may be that the answer is no.",
    ],
)
@pytest.mark.parametrize("phrase", ["Yes", "No"])
def test_yes_and_no_in_clauses_of_their_own_are_no_answer(answer, phrase):
    assert not has(answer, phrase)


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        ("Yes, no toll roads", "Yes"),
        ("Yes; no traffic", "Yes"),
        ("No. Yes is only the case at night.", "No"),
        ("9, 7 and 5 are the top counts, so 9", "9"),
        ("Ann: 9 orders, Bob: 7, Cy: 5", "9"),
        ("I checked pages 1, 2, 3 and 4. There are 6 reviews.", "6"),
        ("2 reviews, 1 with 4 stars and 1 with 5 stars", "2"),
        ("346 approved, 5 pending, 0 not approved", "0"),
        ("Feb: 3, Mar: 5, Apr: 4, May: 2, total 14", "14"),
        ("3 orders in May, 4 in June and 2 in July, so there are 9", "9"),
        ("$30.00 in May, $51.31 in June, total $81.31", "81.31"),
        ("Between 08/2022 and 09/2022 he made 0 commits", "0"),
        ("The user has 0 comments with more downvotes than upvotes; every comment has 1 or more upvotes.", "0"),
        ("2 reviews mention it, both with 3 stars or less.", "2"),
        ("457 km (284 mi) or so", "457km"),
        ("Between May 2 and May 9, 2023, 0 orders were placed.", "0"),
        ("From 1 May 2023 to 7 May 2023 the shop received 0 reviews.", "0"),
        ("Between September 2 and Dec. 9, 3 orders were placed.", "3"),
        ("There were 3 orders, placed on 5/2, 5/8 and 5/9.", "3"),
        ("6 reviews:\n1. a\n2. b\n3. c\n4. d\n5. e\n6. f", "6"),
    ],
)
def test_a_value_that_is_singled_out_is_an_answer(answer, phrase):
    assert has(answer, phrase)


@pytest.mark.parametrize(
    "answer",
    [
        "2 of the 5 orders were cancelled. Let me know if you need more details.",
        "2 of the 5 orders were cancelled. If you need anything else or want more, I might help.",
        "There are 2 orders; 5 were open before. Feel free to ask if you want to see one or the other!",
        "2 orders of 5. I looked if the filter was set.",
    ],
)
def test_a_courtesy_or_an_if_without_a_candidate_is_no_guess(answer):
    assert has(answer, "2")


@pytest.mark.parametrize(
    "answer",
    [
        "2. Let me know if 5 is what you need.",
        "2. If not. 5.",
        "2 if it is open. 5 otherwise, let me know.",
        "Let me know if it is open: 2. Let me know if it is closed: 5.",
    ],
)
@pytest.mark.parametrize("phrase", ["2", "5"])
def test_an_if_with_a_candidate_is_a_guess_also_in_a_courtesy(answer, phrase):
    assert not has(answer, phrase)


@pytest.mark.parametrize(
    ("number", "answer", "wanted"),
    [
        (133, "2 commits on 3/2.", Outcome.SUCCESS),
        (206, "On 3/2, 2 commits were made.", Outcome.SUCCESS),
        (305, "Philip made 0 commits in 2023/1.", Outcome.SUCCESS),
        (305, "In 2023/1, 0 commits", Outcome.SUCCESS),
        (133, "Eric made commits on 3/2.", Outcome.FAILURE),
        (133, "2/3", Outcome.FAILURE),
        (133, "3 commits on 3/2.", Outcome.FAILURE),
        (305, "0 commits in 2023/1, 1 in 2023/2 or 2 in 2023/3", Outcome.FAILURE),
        (135, "Eric and Kilian made commits on 1/3/2023.", Outcome.FAILURE),
        (135, "1 commit on 1/3/2023.", Outcome.SUCCESS),
    ],
)
def test_a_date_of_the_question_is_neither_an_answer_nor_a_candidate(number, answer, wanted):
    assert rules_verdict(episode(DATED[number], answer)).outcome is wanted


def test_a_date_of_the_question_that_is_asked_for_is_an_answer():
    row = DATED[133] | {"eval": DATED[133]["eval"] | {"reference_answers": {"must_include": ["3/2"]}}}
    assert wins(row, "On 3/2.")


@pytest.mark.parametrize("answer", ["1. There are no others.", "1. No other order is open."])
def test_a_row_number_is_the_answer_where_no_yes_or_no_follows(answer):
    assert has(answer, "1")
    assert not has("1. No, it is not.", "1")
    assert not has("1. Yes", "1")


def test_of_several_numbers_only_the_one_singled_out_is_an_answer():
    answer = "3 orders in May, 4 in June and 2 in July, so there are 9"
    assert [phrase for phrase in ("2", "3", "4", "9") if has(answer, phrase)] == ["9"]


@pytest.mark.parametrize(
    "answer",
    [
        "In 2023 there were 5 orders: 3 shipped, 2 cancelled",
        "Order #1234 has 5 items, 3 shirts and 2 hats",
        "In hall 12, there are 5 chairs, 3 tables and 2 lamps.",
        "The 12 reviewers left 5 reviews, 3 good, 2 bad",
    ],
)
def test_a_number_of_another_size_is_no_first_answer(answer):
    assert has(answer, "5")
    assert not has("In 2023: 0, 1, 2, 5", "5")


def test_a_price_may_end_before_its_last_zero():
    assert has("The price is 15.1, before it was 12.5", "15.10")


def test_a_list_of_labelled_names_is_no_answer():
    names = [f"Name{chr(65 + number)}" for number in range(20)]
    assert not has(" ".join(f"{name[-1].lower()}a: {name}." for name in names), "NameB")
    assert not has(" ".join(f"{name}." for name in names), "NameB")


PUBLISHED_ROWS = PUBLISHED / "webarena_812.raw.json"
published = pytest.mark.skipif(not PUBLISHED_ROWS.exists(), reason="the published file is not here")


def winners(answer: str) -> set[str]:
    """The references of the published rows that can be done and that an answer wins."""
    answered = [row for row in rows(PUBLISHED_ROWS) if row["eval"]["eval_types"] == ["string_match"]]
    possible = [row for row in answered if isinstance(rule_of_row(row).answer[0], Includes)]
    return {rule_of_row(row).answer[0].phrases[0][0] for row in possible if wins(row, answer)}


@published
@pytest.mark.parametrize(
    ("answer", "references"),
    [
        ("The first has 0, the second has 1", {"0"}),
        ("0 here 1 there", {"0"}),
        ("0 or more, 1 review", {"1"}),
        ("On 2021-01-02: 0", {"0"}),
        ("Yes: there are 0 orders and 1 review", {"Yes"}),
        ("Yes. 0 reviews", {"Yes"}),
        ("Yes. 0", {"0"}),
        ("Yes, 0", {"0"}),
        ("There are 0. Earlier there were 14. Before that, 351.", {"0"}),
        ("Yes: 0\nNo: 1", set()),
        ("It is not 0", set()),
        ("yes but no", set()),
        ("one says yes, another no", set()),
        ("The answer may be yes. It may be no.", set()),
    ],
)
def test_a_constant_of_several_values_gives_one_of_them(answer, references):
    assert winners(answer) == references


@published
@pytest.mark.parametrize(
    "answer", ["It is not 6", "It isn't 6", "The count is 5 (not 6)", "5 instead of 6", "not 5 or 6"]
)
def test_a_number_that_is_denied_is_no_answer(answer):
    row = next(row for row in rows(PUBLISHED_ROWS) if row["task_id"] == 11)
    assert not wins(row, answer)
    assert wins(row, "6 (not 5)")
    assert wins(row, "not 5 but 6")


@pytest.mark.parametrize("phrase", ["Yes", "No"])
@pytest.mark.parametrize(
    "answer",
    [
        "yes but no",
        "no but yes",
        "Yes. On second thought no.",
        "The answer may be yes. It may be no.",
        "one says yes, another no",
        "I say yes and I say no",
        "Yes in the first case and no in the second",
        '{"yes": true, "no": true}',
        "Yes: 0\nNo: 1",
    ],
)
def test_yes_and_no_for_one_question_are_no_answer(answer, phrase):
    assert not has(answer, phrase)


@pytest.mark.parametrize(
    "answer", ["Yes, by car in 39 min, with no toll roads", "Yes (page 2). No others.", "Yes - no delays"]
)
def test_a_no_before_a_noun_is_no_second_answer(answer):
    assert has(answer, "Yes")


def test_the_only_mention_of_a_name_behind_a_not_is_no_answer():
    assert not has("It is not Boston", "Boston")
    assert has("Not Worcester but Boston", "Boston")


@pytest.mark.parametrize(
    ("question", "answer", "number"),
    [
        ("How many reviews mention it?", "2 stores have 6 reviews", "6"),
        ("How many reviews mention it?", "6. 2 stores were closed.", "6"),
        ("How many items were sold in the most recent 2 orders?", "The 2 orders have 9 items", "9"),
        ("How many commits?", "$5 and 6 commits", "6"),
        ("How many orders?", "There are 9. Of 4 stores.", "9"),
    ],
)
def test_of_two_numbers_the_question_singles_out_one(question, answer, number):
    for digit in range(10):
        rule = WebArenaRule(answer=[Includes(phrases=[[str(digit)]])], ends_at=None, pages=[])
        is_right = judge_webarena(rule, question, answer, None)[0] is Outcome.SUCCESS
        assert is_right == (str(digit) == number)


def gives(question: str, answer: str, phrase: str) -> bool:
    rule = WebArenaRule(answer=[Includes(phrases=[[phrase]])], ends_at=None, pages=[])
    return judge_webarena(rule, question, answer, None)[0] is Outcome.SUCCESS


ENUMERATIONS = ["6 reviews and 12 commits", "6 reviews, 12 commits", "12 commits; 6 reviews.", "6 reviews\n12 commits"]


@pytest.mark.parametrize("answer", [*ENUMERATIONS, "3 likes and 6 reviews and 12 commits", "- 12 commits\n- 6 reviews"])
@pytest.mark.parametrize(("noun", "right"), [("reviews", ["6"]), ("commits", ["12"]), ("followers", [])])
def test_of_counted_things_only_the_one_asked_for_is_an_answer(answer, noun, right):
    question = f"How many {noun} are there?"
    assert [phrase for phrase in ("3", "6", "12") if gives(question, answer, phrase)] == right


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Tell me the total.", "6 reviews and 12 commits"),
        ("How many buyers are there?", "6 customers"),
        ("How many buyers are there?", "There are 6 customers and 12 commits"),
        ("How many orders are there?", "Among 14 customers it is 6."),
        ("How many customers are there?", "6 in May and 12 in June"),
    ],
)
def test_a_number_without_the_noun_of_the_question_may_be_an_answer(question, answer):
    assert gives(question, answer, "6")


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("6. Earlier there were 14.", ["6"]),
        ("6; in other shops 351.", ["6"]),
        ("There are 14. Now it is 6.", ["14"]),
        ("Of all I counted 14. The answer is 6.", ["6"]),
        ("6. The total of 2023, as in 2023.", ["6"]),
        ("There are 0. Earlier there were 14. Before that, 351.", ["0"]),
    ],
)
def test_numbers_without_a_noun_compete_at_any_size(answer, right):
    phrases = [phrase for phrase in ("0", "6", "14", "351") if gives("How many orders?", answer, phrase)]
    assert phrases == right


def test_yes_before_a_zero_says_nothing_of_a_count_alone():
    for answer in ("Yes. 0", "Yes, 0"):
        assert gives("How many orders are open?", answer, "0")
        assert not gives("Is an order open? What is the price?", answer, "0")
        assert not gives("How many orders are open?", answer, "yes")
        assert not has(answer, "yes")
