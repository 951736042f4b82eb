"""Whole episodes on a site of WebArena's kind: a real Chromium does it, the record alone decides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from components.agent import (
    Completion,
    EpisodeSettings,
    EpisodeSpec,
    Prompt,
    Renderer,
    Request,
    format_call,
    format_response,
)
from components.journal import Journal
from components.judge import rules_verdict
from components.judge.rules import probes_of
from components.params import SamplingParams
from components.records import Outcome, Task, Termination, ToolCall, Trajectory
from components.rollout import collect
from components.store import read_table, write_table
from tests.judge.webarena_sites import Sites
from tests.samples import recipe


class Script:
    """A policy that says what it is told to say, turn by turn."""

    version = "script"

    def __init__(self, turns: list[list[ToolCall]]) -> None:
        self._turns = turns

    def prompt_tokens(self, prompt: Prompt) -> int:
        return 0

    async def complete(self, request: Request) -> Completion:
        calls = [format_call(call.name, **call.arguments) for call in self._turns[len(request.turns)]]
        return Completion([], [], format_response("", calls), "stop")


@pytest.fixture
def sites() -> Iterator[Sites]:
    server = Sites()
    yield server
    server.close()


@pytest.fixture
def play(sites, browser, tmp_path):
    """Play an episode that goes to some paths and says `done`; the trajectory as it comes back from disk."""
    params = recipe()
    runner, pool = browser
    settings = EpisodeSettings(
        Renderer(params.agent, params.observation), params.agent, SamplingParams(), 6, 64, probes_of
    )

    def of(evaluation: dict, *paths: str, answer: str = "") -> Trajectory:
        calls = [[ToolCall(name="goto_url", arguments={"url": sites.origin + path})] for path in paths]
        policy = Script([*calls, [ToolCall(name="done", arguments={"answer": answer})]])
        task = Task(
            task_id="webarena/1",
            intent="Do it.",
            start_url=sites.origin + "/home",
            website="shopping",
            source="webarena",
            evaluator={"type": "webarena", "eval": evaluation},
        )

        async def main() -> None:
            with Journal(tmp_path / "journal.jsonl", Trajectory) as journal:
                await collect(
                    [EpisodeSpec(task, 0, "script", 1)], pool, lambda spec, session: policy, settings, journal
                )

        runner.run(main())
        with Journal(tmp_path / "journal.jsonl", Trajectory) as journal:
            (kept,) = journal.records
        write_table(tmp_path / "table.parquet", Trajectory, [kept])
        assert read_table(tmp_path / "table.parquet", Trajectory) == [kept]
        assert kept.termination is Termination.DONE
        return kept

    return of


def page(url: str, locator: str, *phrases: str) -> dict:
    return {"url": url, "locator": locator, "required_contents": {"must_include": list(phrases)}}


def post(origin: str) -> dict:
    inner = "document.querySelector('.submission__inner').outerText"
    return {
        "eval_types": ["url_match", "program_html"],
        "reference_answers": None,
        "reference_url": f"{origin}/f/books |OR| {origin}/f/films",
        "url_note": "GOLD in PRED",
        "program_html": [page("func:reddit_get_post_url('__last_url__')", inner, "where to read |OR| what to read")],
    }


def test_a_post_is_found_from_the_last_address(play, sites):
    trajectory = play(post(sites.origin), "/f/books/submit?title=What+to+read", "/f/books/1/a-title/-/comment/9")
    assert trajectory.ending.url == sites.origin + "/f/books/1/a-title/-/comment/9"
    assert trajectory.ending.readings[0].address == sites.origin + "/f/books/1/"
    assert rules_verdict(trajectory).outcome is Outcome.SUCCESS


@pytest.mark.slow
def test_a_missing_post_is_the_agents_failure(play, sites):
    trajectory = play(post(sites.origin), "/f/books/3/somebody-elses")
    assert trajectory.ending.readings[0].text == ""
    assert rules_verdict(trajectory).outcome is Outcome.FAILURE


def shop(origin: str) -> dict:
    return {
        "eval_types": ["program_html", "string_match"],
        "reference_answers": {"must_include": ["done"]},
        "reference_url": "",
        "program_html": [
            page("func:shopping_get_latest_order_url()", "document.querySelector('.ordered').outerText", "B01", "Lamp"),
            page("last", "func:shopping_get_sku_latest_review_rating('B01')", "80"),
            page("last", "func:shopping_get_sku_latest_review_author('B01')", "Ann"),
            page(f"{origin}/members", "func:gitlab_get_project_memeber_role(__page__, 'koush')", "Guest"),
            page("last", "document.querySelector('h1').outerText", "home"),
            page(f"{origin}/home", "", "<h1>home</h1>"),
        ],
    }


def test_orders_reviews_and_roles_are_asked_of_the_sites(play, sites):
    sites.orders = ["Chair B07", "Lamp B01"]
    sites.reviews = [("Bob", 20), ("Ann", 80)]
    sites.members = {"yjlou": "Owner", "koush": "Guest"}
    trajectory = play(shop(sites.origin), answer="Done.")
    verdict = rules_verdict(trajectory)
    assert verdict.outcome is Outcome.SUCCESS, verdict.rationale
    assert trajectory.ending.readings[0].address == sites.origin + "/sales/order/view/order_id/2/"
    assert not any("admin1234" in str(reading) for reading in trajectory.ending.readings)


@pytest.mark.slow
def test_undone_work_is_the_agents_failure(play, sites):
    sites.orders, sites.reviews, sites.members = ["Lamp B01"], [], {"yjlou": "Owner"}
    trajectory = play(shop(sites.origin), answer="Done.")
    assert [reading.text for reading in trajectory.ending.readings][1:4] == ["", "", ""]
    assert rules_verdict(trajectory).outcome is Outcome.FAILURE


@pytest.mark.slow
def test_a_shop_that_does_not_answer_is_masked(play, sites):
    sites.members, sites.outage = {"koush": "Guest"}, True
    trajectory = play(shop(sites.origin), answer="Done.")
    verdict = rules_verdict(trajectory)
    assert verdict.outcome is Outcome.ERROR
    assert "status 503" in verdict.rationale
