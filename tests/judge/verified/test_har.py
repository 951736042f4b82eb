"""The requests of a real episode: Chromium makes them, the record keeps them, webarena-verified judges them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import async_playwright

from components.browser.chromium import find_chromium, launch
from components.browser.har import MAX_JSON, slim
from components.judge import rules_verdict
from components.judge.rules import probes_of
from components.judge.verified.client import evaluate
from components.records import Ending, Outcome, Task, ToolCall, Trajectory
from components.store import read_table, write_table
from components.tasks import at_sites, parse_rows
from tests.loopback import Handler, Loopback
from tests.samples import a_trajectory

FORM = """<!DOCTYPE html><title>shop</title><link rel=stylesheet href=/look.css><img src=/a.png>
<h1>A shop</h1><form method=post action=/reviews/add?from=home><input name=title value=Good><input name=rating value=4>
<button>Send</button></form><script>fetch('/rest/totals')</script>"""


class Shop(Loopback):
    """A shop whose reviews are posted by a form and answered with a redirect, and whose totals are JSON."""

    def __init__(self) -> None:
        self.reviews: list[dict[str, list[str]]] = []
        self.totals = {"items_qty": 1, "items": [{"name": "Lamp"}]}
        outer = self

        class Serving(Handler):
            def do_GET(self) -> None:
                if urlsplit(self.path).path == "/rest/totals":
                    self.send_body(json.dumps(outer.totals).encode(), "application/json")
                elif self.path.endswith((".css", ".png")):
                    self.send_body(b"", "text/css" if self.path.endswith(".css") else "image/png")
                else:
                    self.send_body(FORM.encode(), "text/html", headers={"Set-Cookie": "mage-messages=a%20lamp"})

            def do_POST(self) -> None:
                outer.reviews.append(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                self.send_body(b"", "text/html", 302, {"Location": "/thanks?for=review"})

        super().__init__(Serving)


def row(**network: Any) -> dict[str, Any]:
    """A row that asks for a review and a network event."""
    return {
        "sites": ["shopping"],
        "task_id": 1,
        "intent_template_id": 1,
        "start_urls": ["__SHOPPING__"],
        "intent": "Write a review with four stars.",
        "intent_template": "Write a review with {{stars}}.",
        "instantiation_dict": {"stars": "four stars"},
        "eval": [
            {
                "evaluator": "AgentResponseEvaluator",
                "results_schema": {"type": "null"},
                "expected": {"task_type": "mutate", "status": "SUCCESS", "retrieved_data": None},
            },
            {"evaluator": "NetworkEventEvaluator", "expected": network},
        ],
        "revision": 2,
    }


POSTED = {
    "url": "__SHOPPING__/reviews/add?from=home",
    "http_method": "POST",
    "post_data": {"title": "Good", "rating": "4"},
    "headers": {"referer": "__SHOPPING__/"},
    "response_status": 302,
}
TOTALS = {"url": "__SHOPPING__/rest/totals", "response_content": {"items_qty": 1, "$.items[0].name": "Lamp"}}
MESSAGE = {
    "url": "__SHOPPING__/thanks",
    "query_params": {"for": ["review"]},
    "response_cookies": {"mage-messages": "^.*lamp$"},
}
ANSWER = json.dumps({"task_type": "MUTATE", "status": "SUCCESS", "retrieved_data": None})


@pytest.fixture
def shop() -> Iterator[Shop]:
    server = Shop()
    yield server
    server.close()


def task_of(shop: Shop, network: dict[str, Any]) -> Task:
    (task,), rejections = parse_rows([row(**network)], "webarena-verified", "rows.json")
    assert rejections == []
    placed = at_sites(task, {"shopping": shop.origin})
    return placed.model_copy(update={"evaluator": placed.evaluator | {"storage_state": None}})


@pytest.fixture
def review(shop, browser, tmp_path):
    """An episode that sends the form, or only looks at the shop; it comes back from disk."""
    runner, pool = browser

    def of(network: dict[str, Any], sends: bool = True) -> Trajectory:
        task = task_of(shop, network)

        async def main() -> Ending:
            async with pool.session() as session:
                observation = await session.start(task)
                if sends:
                    (line,) = [line for line in (observation.text or "").splitlines() if '"Send"' in line]
                    x, y = map(int, line.split()[-2:])
                    observation = (await session.step([ToolCall(name="click", arguments={"x": x, "y": y})])).observation
                readings = [await session.read(probe) for probe in probes_of(task, observation.url)]
                return Ending(url=observation.url, readings=readings)

        trajectory = a_trajectory(task).model_copy(update={"answer": ANSWER, "ending": runner.run(main())})
        write_table(tmp_path / "table.parquet", Trajectory, [trajectory])
        assert read_table(tmp_path / "table.parquet", Trajectory) == [trajectory]
        return trajectory

    return of


def entries(trajectory: Trajectory) -> list[dict[str, Any]]:
    (reading,) = trajectory.ending.readings
    return json.loads(reading.text)


def test_the_record_has_the_requests_of_the_episode_without_static_files(review, shop):
    trajectory = review(POSTED)
    assert shop.reviews == [{"title": ["Good"], "rating": ["4"]}]
    seen = [(one["request"]["method"], one["request"]["url"].removeprefix(shop.origin)) for one in entries(trajectory)]
    assert [request for request in seen if "rest" not in request[1]] == [
        ("GET", "/"),
        ("POST", "/reviews/add?from=home"),
        ("GET", "/thanks?for=review"),
    ]
    assert ("GET", "/rest/totals") in seen
    (posted,) = [one for one in entries(trajectory) if one["request"]["method"] == "POST"]
    assert posted["request"]["postData"]["text"] == "title=Good&rating=4"
    assert posted["response"]["redirectURL"] == f"{shop.origin}/thanks?for=review"
    assert "A shop" not in trajectory.ending.readings[0].text
    assert len(trajectory.ending.readings[0].text) < 20_000


@pytest.mark.parametrize("network", [POSTED, TOTALS, MESSAGE], ids=["form", "json", "cookie"])
def test_the_package_finds_the_event_in_the_record(verified, review, network):
    verdict = rules_verdict(review(network))
    assert verdict.outcome is Outcome.SUCCESS, verdict.rationale


@pytest.mark.parametrize(
    "changes",
    [
        {"post_data": {"title": "Good", "rating": "5"}},
        {"http_method": "PUT"},
        {"response_status": 200},
        {"url": "__SHOPPING__/reviews/delete"},
        {"headers": {"referer": "__SHOPPING__/lamp"}},
    ],
    ids=["fields", "method", "status", "address", "referer"],
)
def test_another_event_is_a_failure_of_the_network_events(verified, review, changes):
    verdict = rules_verdict(review(POSTED | changes))
    assert verdict.outcome is Outcome.FAILURE
    assert verdict.rationale.startswith("the answer: yes; the network events: failure")


def test_an_agent_that_only_claims_to_have_done_it_fails(verified, review, shop):
    assert rules_verdict(review(POSTED, sends=False)).outcome is Outcome.FAILURE
    assert shop.reviews == []


def test_a_second_episode_has_only_its_own_requests(review):
    assert len(entries(review(POSTED, sends=False))) < len(entries(review(POSTED)))
    assert not any(one["request"]["method"] == "POST" for one in entries(review(POSTED, sends=False)))


def test_an_episode_that_records_nothing_leaves_no_trace(browser, shop, monkeypatch):
    runner, pool = browser
    task = task_of(shop, POSTED)
    plain = task.model_copy(update={"evaluator": task.evaluator | {"har": False}})

    async def main() -> str | None:
        async with pool.session() as session:
            await session.start(plain)
            (probe,) = probes_of(task, "")
            return (await session.read(probe)).error

    assert "were not recorded" in (runner.run(main()) or "")


def test_what_is_left_out_of_a_har_changes_no_verdict(verified, shop, tmp_path):
    """The same page recorded by Playwright in full: the package says the same of it and of what we keep."""

    async def record() -> dict[str, Any]:
        async with async_playwright() as playwright:
            running = await launch(playwright, find_chromium(playwright.chromium.executable_path), [], headless=True)
            context = await running.new_context(record_har_path=tmp_path / "full.har", record_har_content="embed")
            page = await context.new_page()
            await page.goto(shop.origin)
            await page.get_by_role("button").click()
            await page.wait_for_url("**/thanks*")
            await page.wait_for_load_state("networkidle")
            await context.close()
            await running.close()
        return json.loads((tmp_path / "full.har").read_text())

    full = asyncio.run(record())
    kept = slim(full)
    assert len(json.dumps(kept)) < len(json.dumps(full)) / 2
    addresses = {"__SHOPPING__": shop.origin}
    others = (POSTED | {"http_method": "PUT"}, TOTALS | {"response_content": {"items_qty": 2}})
    for network in (POSTED, TOTALS, MESSAGE, *others):
        said = [evaluate(row(**network), addresses, ANSWER, one).model_dump() for one in (full["log"]["entries"], kept)]
        assert said[0] == said[1]


def test_long_json_is_left_out_of_the_record():
    def response(text: str) -> dict[str, Any]:
        content = {"mimeType": "application/json", "text": text}
        request = {"method": "GET", "url": "http://u:secret@shop.example/", "headers": []}
        return {"request": request, "response": {"status": 200, "content": content}}

    long, short = slim({"log": {"entries": [response("1" * (MAX_JSON + 1)), response("[1]")]}})
    assert "text" not in long["response"]["content"]
    assert short["response"]["content"]["text"] == "[1]"
    assert short["request"]["url"] == "http://u:***@shop.example/"


@pytest.fixture
def verified(file: Path) -> None:
    """The package is installed."""
