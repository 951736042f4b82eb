"""What a benchmark run leaves: a JSON that says what it is of, and a page."""

from __future__ import annotations

import json

import pytest

from components.benchmarks.results import BenchmarkResult, Progress, write_result
from components.benchmarks.step_budgets import budget_curve
from components.evaluation import success
from components.records import Outcome, Termination
from components.rollout import RunCost
from tests.samples import a_task, a_trajectory, a_turn, a_verdict


def a_result(**changes: object) -> BenchmarkResult:
    every = [a_trajectory(a_task(number, website="<b>shop</b>"), turns=number + 1) for number in range(4)]
    verdicts = [a_verdict(one, Outcome.SUCCESS if number % 2 else Outcome.FAILURE) for number, one in enumerate(every)]
    fields = {
        "benchmark": "shops",
        "version": "1 sha256:0123456789ab",
        "title": "Shops",
        "licence": "MIT",
        "status": "partial",
        "problem": "4 of 9 tasks are done, 2 left out (robots)",
        "model": "models/rl-long",
        "model_key": "abc123",
        "judge": "rules",
        "summary": success(every, verdicts),
        "also": {"vote": success(every, verdicts)},
        "curve": budget_curve(every, verdicts, [1, 2, 4], 0.1),
        "progress": Progress(
            tasks=9, rejected=1, asked=4, done=4, skipped={"robots": ["a", "b"]}, retried=0, stopped_by=None
        ),
        "spent": RunCost(usd=1.5, minutes=2.0, tokens=12345),
        "judge_usd": 0.25,
        "settings": {"decoding": "official", "max_steps": 4},
        "measured_at": "2026-01-02T03:04:05+00:00",
    }
    return BenchmarkResult.model_validate(fields | changes)


def test_the_json_says_what_was_measured_and_reads_back(tmp_path):
    result = a_result()
    path = write_result(result, tmp_path)
    assert path.name == "shops@abc123.json"
    said = json.loads(path.read_text())
    assert {"benchmark", "version", "model", "summary", "settings", "measured_at"} <= said.keys()
    assert said["version"] == "1 sha256:0123456789ab"
    assert [point["rate"] for point in said["curve"]] == [0.0, 0.25, 0.5]
    assert BenchmarkResult.model_validate(said) == result


def test_the_page_has_the_curve_the_reasons_and_no_markup_of_a_site(tmp_path):
    page = write_result(a_result(), tmp_path).with_suffix(".html").read_text()
    for text in (
        "50.0%",
        "4 of 9 tasks are done",
        "Test-time scaling",
        "<polyline",
        "12,345 tokens",
        "Left out: robots",
    ):
        assert text in page
    assert "<b>shop</b>" not in page


def test_the_page_says_why_episodes_failed_and_what_they_took(tmp_path):
    reasons = "<think>\nThis page is not what I expected, let me go back and try another way.\n</think>"
    attempts = [
        a_trajectory(
            a_task(number, website="shop", difficulty=1 + 4 * number),
            attempt=attempt,
            turns=0,
            termination=Termination.MAX_STEPS if attempt else Termination.DONE,
        ).model_copy(update={"turns": [a_turn(response=reasons)]})
        for number in range(2)
        for attempt in range(2)
    ]
    outcomes = [Outcome.SUCCESS, Outcome.FAILURE, Outcome.FAILURE, Outcome.FAILURE]
    verdicts = [a_verdict(one, outcome) for one, outcome in zip(attempts, outcomes, strict=True)]
    summary = success(attempts, verdicts)
    page = write_result(a_result(summary=summary), tmp_path).with_suffix(".html").read_text()
    for text in (
        "Why episodes failed",
        "By difficulty",
        "pass@k",
        "Usage of an episode",
        "Kinds of failure",
        "Reasoning",
    ):
        assert text in page, text
    (kind,) = [kind for kind, count in summary.failures.items() if count == 2]
    assert f"<tr><th>{kind.replace('_', ' ')}</th><td>2</td>" in page


def test_an_invalid_result_has_no_rate_on_its_page(tmp_path):
    invalid = a_result(status="invalid", summary=None, also={}, curve=[], problem="9 of 9 were ended")
    page = write_result(invalid, tmp_path).with_suffix(".html").read_text()
    assert "no rate" in page
    assert "9 of 9 were ended" in page
    assert "Why episodes failed" not in page
    assert "0.0%" not in page


def test_each_decoding_has_its_own_result_file(tmp_path):
    other = a_result(settings={"decoding": "without_aborted"})
    assert write_result(other, tmp_path).name == "shops@abc123.without_aborted.json"


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "shops@abc123"),
        ({"limit": None, "occasion": ""}, "shops@abc123"),
        ({"limit": 4}, "shops@abc123.limit-4"),
        ({"limit": 9}, "shops@abc123"),
        ({"occasion": "2026-11-25"}, "shops@abc123.occasion-2026-11-25"),
        ({"occasion": "a/b"}, "shops@abc123.occasion-a-b-c14cdd"),
        ({"decoding": "greedy", "occasion": "x", "limit": 4}, "shops@abc123.greedy.occasion-x.limit-4"),
    ],
)
def test_a_run_of_other_attempts_or_fewer_tasks_has_its_own_files(tmp_path, settings, name):
    path = write_result(a_result(settings={"decoding": "official", "max_steps": 4} | settings), tmp_path)
    assert path.name == f"{name}.json"
    assert (tmp_path / f"{name}.html").exists()


@pytest.mark.parametrize("status", ["partial", "invalid"])
def test_an_incomplete_result_does_not_replace_a_complete_one(tmp_path, status):
    whole = a_result(status="complete", problem=None)
    paths = [write_result(result, tmp_path) for result in (whole, a_result(status=status), whole)]
    assert [path.name for path in paths] == ["shops@abc123.json", f"shops@abc123.{status}.json", "shops@abc123.json"]
    assert BenchmarkResult.model_validate_json(paths[0].read_text()).status == "complete"


def test_a_partial_result_does_not_replace_one_with_more_tasks(tmp_path):
    """On a live set with a task that robots.txt forbids, no result is complete."""
    more = a_result(status="partial")
    fewer = more.model_copy(update={"progress": more.progress.model_copy(update={"done": more.progress.done - 1})})
    of_another_set = fewer.model_copy(update={"version": "another"})
    names = [write_result(result, tmp_path).name for result in (fewer, more, fewer, more, of_another_set)]
    assert names == ["shops@abc123.json"] * 2 + ["shops@abc123.partial.json"] + ["shops@abc123.json"] * 2


def test_an_invalid_result_does_not_replace_a_partial_one(tmp_path):
    statuses = ("partial", "invalid", "partial")
    paths = [write_result(a_result(status=status), tmp_path) for status in statuses]
    assert [path.name for path in paths] == ["shops@abc123.json", "shops@abc123.invalid.json", "shops@abc123.json"]
