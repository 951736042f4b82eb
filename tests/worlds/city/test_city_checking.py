"""`waymark world check city` on a template per site: all runs, and that a run which could cheat is reported."""

from __future__ import annotations

import asyncio

import pytest

from components.cli.world import RUNS
from components.params import BrowserParams
from components.worlds import TaskCheck
from components.worlds.city import City, checking
from components.worlds.city.params import CityParams

BROWSER = BrowserParams(concurrency=2, start_timeout_s=60, step_timeout_s=60, settle_ms=20_000)
pytestmark = pytest.mark.timeout(700)

QUESTIONS = ("shop_price_extreme", "desk_count_in_queue", "forum_last_poster", "calendar_what_next", "mail_who_wrote")
"""Short tasks with an answer, so that all runs apply; one per site."""
CHANGES = ("shop_change_name", "dashboard_create_category")


def checks_of(*names: str) -> list[TaskCheck]:
    async def run() -> list[TaskCheck]:
        return [check async for check in City(CityParams()).check(names, BROWSER, 1, 1)]

    return asyncio.run(run())


def test_no_agent_that_cheats_succeeds_on_any_site(image):
    """The run `other` is of own sites: a template of the city has no parameters that its rule could ignore."""
    checks = {check.family: check for check in checks_of(*QUESTIONS, *CHANGES)}
    assert {*checks} == {*QUESTIONS, *CHANGES}
    assert [check.problems for check in checks.values()] == [[]] * len(checks)
    for name, check in checks.items():
        missing = {"other"} if name in QUESTIONS else {"other", "listed"}
        missing |= set() if name == "desk_count_in_queue" else {"guessed"}
        applicable = [run for run in RUNS if run not in missing]
        assert check.rewards == {run: float(run == "oracle") for run in applicable}, name
        assert check.is_repeatable, name


@pytest.mark.parametrize("run", ["control", pytest.param("forged", marks=pytest.mark.exhaustive)])
def test_a_page_that_changes_the_copy_is_a_problem(run, image, monkeypatch):
    write = """() => {
        const token = document.cookie.match(/csrftoken=(\\w+)/)[1];
        const headers = {'X-CSRFToken': token, 'Content-Type': 'application/x-www-form-urlencoded'};
        return fetch('/basket/add/3/', {method: 'POST', headers, body: 'quantity=1'}).then((answer) => answer.text());
    }"""
    monkeypatch.setattr(checking, run.upper(), write)
    (check,) = checks_of("shop_count_under")
    assert f"{run} changes the copy" in check.problems
