"""The check notes answers that no page shows, and accompanying changes that hide side effects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.worlds.own_site import read_site
from components.worlds.own_site.doubts import is_shown, wide_rules
from tests.worlds.own_site.packages import changed

PAGES = ["Tools\nLadder, 3 m\nDrill", "Ladder, 3 m\n$1,212.50 a day, at most 7 days"]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ({"number": "1212.5"}, True),
        ({"number": "7.0"}, True),
        ({"number": "2425"}, False),
        ({"number": "12"}, False),
        ({"phrase": ["a week", "7 days"], "wrong": []}, True),
        ({"phrase": ["7 weeks"], "wrong": ["7 days"]}, False),
        ({"names": ["ladder, 3 m", "Drill"], "among": ["Saw"]}, True),
        ({"names": ["Ladder, 3 m", "Saw"], "among": ["Drill"]}, False),
        ({"refusal": ["sold out"]}, True),
        ({}, True),
    ],
)
def test_a_value_is_shown_by_a_page_that_has_it(answer: dict[str, Any], shown: bool) -> None:
    assert is_shown(answer, PAGES) is shown


@pytest.mark.parametrize(
    ("may", "noted"),
    [
        ({"table": "visit"}, False),
        ({"table": "item", "values": {"person": "kim"}}, False),
        ({"table": "item"}, True),
        ({"table": "*"}, True),
    ],
)
def test_a_change_that_may_be_any_of_the_own_table_is_noted(written: Path, may: dict[str, Any], noted: bool) -> None:
    template = read_site(changed(written, lambda site: site["tasks"]["add_item"].update(may=[may]))).tasks["add_item"]
    notes = wide_rules(template)
    assert [note.partition(",")[0] for note in notes] == [f"may.0 allows every change of {may['table']}"] * noted
