"""Why a page has no target of an oracle's step: the part that was not found is named, with the lines that are there."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from components.browser import Listed, Session
from components.records import ToolCall
from components.worlds.oracle import Oracle
from components.worlds.own_site.steps import steps_of
from components.worlds.playing import play
from components.worlds.target import Target, absence


def line(role: str, name: str, value: str = "", y: int = 20) -> Listed:
    return Listed(role, name, value, frozenset(), 10, y)


TOOLS = [line("link", "Tool shed"), line("link", "Wrench 1/2'")]
SHED = [*TOOLS, line("button", "Bring back"), line("field", "Days", "7")]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (
            Target("link", re.escape("Pipe bender, 3 m")),
            """there is no link "Pipe bender, 3 m"; lines there: link "Tool shed", link "Wrench 1/2'\"""",
        ),
        (Target("link", r"Bring\ back"), 'there is no link "Bring back"; lines there: button "Bring back"'),
        (
            Target("button", r"Bring\ back", after=r"Ladder,\ 3\ m"),
            'there is no line "Ladder, 3 m" for `after`; lines there: link "Tool shed", link "Wrench 1/2\'", '
            'button "Bring back", field "Days"',
        ),
        (
            Target("link", ".*shed", after=r"Bring\ back"),
            'there is no link "*shed" after the line "Bring back" in one view; lines there: link "Tool shed"',
        ),
        (
            Target("button", r"Bring\ back", number=1),
            'there is no button "Bring back" with the number 1, counted from 0, in one view; lines there: '
            'button "Bring back"',
        ),
        (Target("field", "Days", "3"), 'there is no field "Days" with the value "3"; values there: "7"'),
    ],
)
def test_the_part_of_a_target_that_is_not_there_is_named(target: Target, reason: str) -> None:
    assert absence(target, [SHED, SHED]) == reason


class _Page:
    """A session on a page that does not change."""

    answer: str | None = None

    async def oracle(self) -> str:
        return '- link "Tool shed" 10 20\n- button "Bring back" 10 40'

    async def step(self, calls: Sequence[ToolCall]) -> SimpleNamespace:
        (self.answer,) = [call.arguments["answer"] for call in calls if call.name == "done"] or [None]
        observation = SimpleNamespace(url="http://shed.test/loans")
        return SimpleNamespace(feedback=[], observation=observation, done=self.answer is not None)


def test_an_oracle_that_gives_up_says_what_its_page_has() -> None:
    steps = steps_of([{"click": "link My loans, old"}], {}, "http://shed.test")
    place, reason = "http://shed.test/loans", 'there is no link "My loans, old"; lines there: link "Tool shed"'
    with pytest.raises(RuntimeError, match=f"^the oracle gives up at {place}: {reason}$"):
        asyncio.run(play(cast(Session, _Page()), Oracle(steps, "", random.Random(0))))


def test_a_page_without_lines_of_the_role_shows_all_of_them() -> None:
    page = [line("link", f"Tool {number}") for number in range(33)]
    assert absence(Target("radio"), [page]).startswith('there is no radio; lines there: link "Tool 0", link "Tool 1"')
    assert absence(Target("radio"), [page]).endswith('link "Tool 29", and 3 more')
    assert absence(Target("radio"), [[]]) == "there is no radio; lines there: none"
