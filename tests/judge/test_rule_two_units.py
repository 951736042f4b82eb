"""Amounts that an answer gives in two units."""

from __future__ import annotations

import pytest

from components.judge.rules.conditions import Includes, WebArenaRule
from components.judge.rules.webarena import judge_webarena
from components.records import Outcome
from tests.judge.test_rule_candidates import has


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        ("2.0 km or 1.2 mi", "2.0km"),
        ("It is 1.4 km or 0.87 miles away.", "1.4km"),
        ("$0.39 or 39 cents", "0.39"),
        ("It takes 120 minutes (2 hours)", "2 hours"),
        ("Yes / 39 min", "Yes"),
        ("Yes | 39 min", "Yes"),
    ],
)
def test_an_amount_in_two_units_is_one_amount(answer, phrase):
    assert has(answer, phrase)
    rule = WebArenaRule(answer=[Includes(phrases=[[phrase]])], ends_at=None, pages=[])
    assert judge_webarena(rule, "How much?", answer, None)[0] is Outcome.SUCCESS


def test_both_units_of_an_amount_may_be_asked_for():
    assert has("It takes 2 hours (120 minutes).", "2 hours", "120 minutes")


@pytest.mark.parametrize(("answer", "phrase"), [("2.0 km or 3.5 mi", "2.0km"), ("2 km or 3 km", "2km")])
def test_two_amounts_in_two_units_are_no_answer(answer, phrase):
    assert not has(answer, phrase)
