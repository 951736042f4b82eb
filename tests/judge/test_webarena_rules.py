"""WebArena's evaluators on answers and pages, form by form. The rows are ours (`fixtures/webarena_rows.json`)."""

from __future__ import annotations

import pytest

from components.judge import rules_verdict
from components.judge.rules import NEEDS_MODEL, open_questions
from components.records import Outcome, Termination
from tests.judge.webarena_episodes import episode, ours, right

SUCCESS, FAILURE, ERROR = Outcome.SUCCESS, Outcome.FAILURE, Outcome.ERROR
SHOP = "http://shop.example"


@pytest.mark.parametrize(
    ("number", "answer", "outcome"),
    [
        (1, "Lumo Desk Lamp", SUCCESS),
        (1, '"lumo desk lamp."', SUCCESS),
        (1, "The Lumo Desk Lamp", FAILURE),
        (2, "There are 6.", SUCCESS),
        (2, "16", FAILURE),
        (3, "Ann Lo and T. Gannon, 3 times", SUCCESS),
        (3, "Ann Lo and T. Gannon, 65 times", SUCCESS),
        (3, "Ann Lo and T. Gannon, 165 times", FAILURE),
        (3, "Ann Lo, 3 times", FAILURE),
        (4, "It was yjlou.", SUCCESS),
        (4, "y j l o u", FAILURE),
        (5, "Driving: 13min, walking: 1h 35min.", SUCCESS),
        (5, "13 minutes by car, 95 on foot", ERROR),
        (5, "N/A", FAILURE),
        (5, "N/A. The drive takes 13 minutes, the walk 95.", ERROR),
        (5, "", FAILURE),
        (6, "Round Park, 1h 23min", ERROR),
        (6, "Square Park, 1h 23min", FAILURE),
        (7, "N/A", SUCCESS),
        (7, "n/a. There is no such order.", SUCCESS),
        (7, "There is no such order.", ERROR),
        (7, "", FAILURE),
        (8, "'N/A'", SUCCESS),
        (8, "I cancelled it.", ERROR),
        (9, "N/A", SUCCESS),
        (9, "There is no such filter.", FAILURE),
        (10, "N/A", SUCCESS),
        (10, "The discount is shown as N/A.", FAILURE),
        (11, "git clone ssh://git@my.gitlab:2022/ann/robot.git", SUCCESS),
        (11, "git clone ssh://git@my.gitlab:2022/bob/robot.git", FAILURE),
        (12, "http://forum.example:9999/f/books/59396/a-free-audiobook", SUCCESS),
        (12, "http://www.reddit.com/f/books/59396/a-free-audiobook", SUCCESS),
        (12, "http://forum.example:9999/f/books/5939", FAILURE),
    ],
)
def test_answers_are_judged_by_the_rows_references(number, answer, outcome):
    verdict = rules_verdict(episode(ours(number), answer))
    assert verdict.outcome is outcome, verdict.rationale
    assert outcome is not ERROR or NEEDS_MODEL in verdict.rationale
    assert (verdict.judge, verdict.judge_version) == ("rules", "webarena-8")


@pytest.mark.parametrize(("says", "outcome"), [(True, SUCCESS), (False, FAILURE), (None, ERROR)])
@pytest.mark.parametrize(
    ("number", "answer", "wanted"),
    [
        (5, "13 minutes by car", "driving: 13min, walking: 1h 35min"),
        (6, "Round Park, 83 minutes", "1h 23min"),
        (7, "No such order", "The task cannot be done: there is no order on its way"),
        (8, "No such order", "The task cannot be done."),
    ],
)
def test_a_model_is_asked_what_rules_cannot_tell_and_an_outage_is_no_score(number, answer, wanted, says, outcome):
    asked = []

    def same_answer(question: str, reference: str, given: str) -> bool | None:
        asked.append((question, reference, given))
        return says

    row = ours(number)
    assert rules_verdict(episode(row, answer), same_answer).outcome is outcome
    assert asked == [(row["intent"], wanted, answer)]


def test_no_model_is_asked_about_an_episode_that_has_failed_already():
    def never(question: str, reference: str, given: str) -> bool | None:
        raise AssertionError("asked")

    assert rules_verdict(episode(ours(6), "Square Park, 1h 23min"), never).outcome is FAILURE


def test_questions_to_a_model_can_be_listed_beforehand():
    trajectory = episode(ours(6), "Round Park, 83 minutes")
    asked = open_questions(trajectory)
    assert asked == [(ours(6)["intent"], "1h 23min", "Round Park, 83 minutes")]
    answers = dict.fromkeys(asked, True)
    assert rules_verdict(trajectory, lambda *question: answers[question]).outcome is SUCCESS
    assert open_questions(episode(ours(6), "Square Park")) == open_questions(right(ours(1))) == []


@pytest.mark.parametrize(
    ("number", "url", "outcome"),
    [
        (14, "/headphones.html?order=price", SUCCESS),
        (14, "/electronics.html?order=price&cat=60&p=2", SUCCESS),
        (14, "/electronics.html?order=price", FAILURE),
        (14, "/headphones.html?cat=60", FAILURE),
        (15, "/contact/", SUCCESS),
        (15, "/contact/index", FAILURE),
    ],
)
def test_each_alternative_last_address_has_its_own_query(number, url, outcome):
    row = ours(number)
    row["eval"]["reference_url"] = row["eval"]["reference_url"].replace("__SHOPPING__", SHOP)
    assert rules_verdict(episode(row, "", SHOP + url)).outcome is outcome


def test_all_parts_of_a_rule_must_hold():
    row = ours(13)
    issue = row["eval"]["reference_url"]
    assert rules_verdict(episode(row, "Yes", issue)).outcome is SUCCESS
    assert rules_verdict(episode(row, "No", issue)).outcome is FAILURE
    assert rules_verdict(episode(row, "Yes", issue + "8")).outcome is FAILURE


@pytest.mark.parametrize(
    ("number", "texts", "outcome"),
    [
        (17, ["Lamp\nB01J4MM3KO\nQty 1"], SUCCESS),
        (17, ["Lamp\nB07"], FAILURE),
        (17, [""], FAILURE),
        (17, [None], ERROR),
        (18, ["80", "Ann"], SUCCESS),
        (18, ["180", "Ann"], FAILURE),
        (18, ["100", None], FAILURE),
        (18, ["80", None], ERROR),
        (19, ["Guest"], SUCCESS),
        (20, ["by_percent"], SUCCESS),
        (20, ["by_percent_x"], FAILURE),
        (21, ["<p>jaw&nbsp;pain: mouth guards</p>"], SUCCESS),
        (23, ["I want a refund of order 000000180, $12.99"], SUCCESS),
        (23, ["Give me my money back"], ERROR),
        (23, ["  "], FAILURE),
    ],
)
def test_pages_are_judged_by_the_rows_references(number, texts, outcome):
    verdict = rules_verdict(episode(ours(number), "", texts=texts))
    assert verdict.outcome is outcome, verdict.rationale


def test_readings_of_another_rule_are_ignored():
    given, other = right(ours(20)), right(ours(22))
    swapped = given.model_copy(update={"ending": other.ending})
    assert rules_verdict(swapped).outcome is ERROR


def test_a_record_without_page_readings_is_judged_by_its_answer_alone():
    assert rules_verdict(right(ours(20), ending=None)).outcome is ERROR
    assert rules_verdict(right(ours(14), ending=None)).outcome is ERROR
    assert rules_verdict(right(ours(1), ending=None)).outcome is SUCCESS


def test_an_episode_without_done_fails_unless_the_environment_ended_it():
    assert rules_verdict(right(ours(1), termination=Termination.MAX_STEPS)).outcome is FAILURE
    assert rules_verdict(right(ours(1), termination=Termination.BLOCKED)).outcome is ERROR


def test_the_rationale_says_which_part_failed():
    text = rules_verdict(episode(ours(3), "Ann Lo, 3 times")).rationale
    assert text == 'has "T. Gannon": no'
