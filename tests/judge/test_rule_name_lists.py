"""Of a list of names an answer gives at most one, where one was asked for; names with their details are answers."""

from __future__ import annotations

import pytest

from components.judge.attack import strategies
from components.judge.rules.conditions import Includes, WebArenaRule
from tests.judge.test_rule_candidates import has
from tests.judge.test_rule_rivals import published, winners
from tests.judge.webarena_episodes import PUBLISHED, rows, rule_of_row

NAMES = ["The exchange", "Acadia National Park", "La Prima Espresso", "Jane Smith", "bookshop.org", "Flat Rate - Fixed"]
SEPARATORS = [", ", " and ", "; ", "\n", " and by ", " or ", " | ", ". "]


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("opening", ["", "It was seen by "])
def test_a_list_of_names_gives_at_most_its_first(separator, opening):
    assert [name for name in NAMES if has(opening + separator.join(NAMES), name)] in ([], NAMES[:1])


def test_a_list_that_says_it_is_of_each_name_gives_at_most_its_first():
    answer = " ".join(f"It is {name}." for name in NAMES)
    assert [name for name in NAMES if has(answer, name)] == NAMES[:1]
    assert not any(has(" ".join(f"The answer is {name}." for name in NAMES), name) for name in NAMES[1:])


@pytest.mark.parametrize(
    "answer",
    [
        "Jane Smith",
        "Jane Smith, Boston, Massachusetts",
        "Jane Smith, 5 orders, $300, Boston, wholesale, complete",
        "The customer is Jane Smith, Forbes Avenue, Oakland, Pittsburgh, Pennsylvania",
        "Done. The customer is Jane Smith, Forbes Avenue, Oakland, Pittsburgh, Pennsylvania",
        "I compared Ann, Bob, Cy, Di and Jane Smith, so the answer is Jane Smith.",
        "I compared Ann, Bob, Cy, Di and Ed; the answer is Jane Smith.",
        "Of Ann, Bob, Cy, Di and Ed the best customer is Jane Smith.",
        "Orders: 5\nCity: Boston\nState: Ohio\nCustomer: Jane Smith\nGroup: wholesale\nStatus: open",
        "Ann, Bob, Cy or Jane Smith",
        "01/05/2023, 02/05/2023, 03/05/2023, 04/05/2023, Jane Smith",
        "I opened the page, sorted the table of customers by their orders, and read the first row: Jane Smith",
    ],
)
def test_a_name_with_details_or_singled_out_is_an_answer(answer):
    assert has(answer, "Jane Smith")


def test_of_several_phrases_each_may_be_an_item():
    assert has(", ".join(NAMES), *NAMES[1:3])


@published
def test_a_list_of_the_most_frequent_names_wins_what_one_name_wins():
    rules = [rule_of_row(row) for row in rows(PUBLISHED / "webarena_812.raw.json")]
    texts = {strategy(None) for strategy in strategies(rules)["list of candidates"]}
    lists = [text for text in texts if "La Prima Espresso" in text and 5 <= text.count(" and by ") < 12]
    alone = [text for text in lists if text.startswith("It was seen by ")]
    assert (len(lists), len(alone)) == (4, 2), "two lengths, each alone and behind several numbers"
    assert [winners(text) for text in alone] == [{"The exchange"}] * 2
    assert [len(winners(text) & {*NAMES}) for text in lists] == [1] * 4
    every = max(alone, key=len).removeprefix("It was seen by ").split(" and by ")
    assert [winners(text) for text in (", ".join(every), "\n".join(every))] == [{every[0]}] * 2


def test_the_rule_of_one_phrase_lends_its_name_to_lists():
    rules = [WebArenaRule(answer=[Includes(phrases=[[name]])], ends_at=None, pages=[]) for name in ("Ann", "Bob", "7")]
    several = WebArenaRule(answer=[Includes(phrases=[["Cy"], ["Di"]])], ends_at=None, pages=[])
    texts = {strategy(None) for strategy in strategies([*rules, several])["list of candidates"]}
    assert {"Ann and Bob", "It was seen by Ann and by Bob"} <= texts
