"""Our verdicts are those of the package, on every row and on answers of every type, right and wrong."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from components.judge import rules_verdict
from components.judge.rules import RuleError, probes_of, require_rules, rule_of
from components.judge.verified import client
from components.judge.verified.client import VERSION, VerifiedError
from components.judge.verified.rule import VerifiedRule, _readable
from components.records import Outcome, Task, Verdict
from components.tasks import load_files
from tests.judge.verified.cases import OTHER, SAME, SITES, Case, cases, response
from tests.judge.verified.episodes import ROOT, episode

pytestmark = pytest.mark.timeout(900)
"""Two processes judge 7,800 episodes, in a minute, or in several where the machine is busy."""
IMPOSSIBLE = {
    319: "its expected response lacks retrieved_data, and the package then finds a key too few in every answer",
    429: "two navigations are expected, and only the last one of a NAVIGATE task is looked at",
    567: "two requests to one address are expected, and only the last one is looked at",
    568: "as 567",
    569: "as 567",
    570: "as 567, with four requests",
    699: "a list of alternatives has one item, which the package refuses",
    700: "as 699",
}
"""Rows whose own references the package refuses, and why."""
OTHER_FORMS = {
    "boolean as a word": 15,
    "boolean as text": 15,
    "currency as text": 44,
    "currency with a sign": 44,
    "currency with groups": 44,
    "date American": 9,
    "date ISO": 9,
    "date short": 9,
    "distance in kilometres": 11,
    "distance in metres": 11,
    "distance in miles": 11,
    "duration in minutes": 33,
    "duration in words": 33,
    "duration short": 33,
    "month short": 6,
    "month whole": 6,
    "number as a word": 42,
    "number as text": 66,
    "string in capitals": 112,
}
"""Rows that accept their answer in this form. Those of the type that are left out have references that are patterns."""
SUCCESS = Outcome.SUCCESS
OUTCOMES = {"success": SUCCESS, "failure": Outcome.FAILURE, "error": Outcome.ERROR}
REFERENCE = Path(__file__).with_name("reference.py")


SAMPLED_PER_KIND = 9
"""Cases of each kind in the sample, spread over the rows that have one: some 360 of 7,800."""


@pytest.fixture(scope="module")
def judged(rows, tasks, tmp_path_factory):
    """Every case of every row, with our verdict and the package's status."""
    return _with_both([case for row in rows for case in cases(row)], rows, tasks, tmp_path_factory.mktemp("reference"))


@pytest.fixture(scope="module")
def sampled(rows, tasks, tmp_path_factory):
    """As `judged`, of the same few cases of each kind in every run."""
    by_kind: dict[str, list[Case]] = {}
    for case in (case for row in rows for case in cases(row)):
        by_kind.setdefault(case.kind, []).append(case)
    few = [case for members in by_kind.values() for case in members[:: -(-len(members) // SAMPLED_PER_KIND)]]
    return _with_both(few, rows, tasks, tmp_path_factory.mktemp("sample"))


def _with_both(
    every: list[Case], rows: list[dict[str, Any]], tasks: dict[int, Task], folder: Path
) -> list[tuple[Case, Verdict, str]]:
    """Cases with our verdict and the package's status; both are computed at the same time."""
    sites = {row["task_id"]: {site: SITES[site] for site in row["sites"]} for row in rows}
    asked = [
        {
            "task_id": case.task_id,
            "answer": case.answer,
            "entries": case.entries,
            "environments": sites[case.task_id],
        }
        for case in every
    ]
    (folder / "cases").write_text("\n".join(map(json.dumps, asked)))
    python = ROOT / client.ENVIRONMENT / "bin/python"
    with (folder / "cases").open() as given, (folder / "statuses").open("w") as answered:
        reference = subprocess.Popen([python, REFERENCE], stdin=given, stdout=answered)
        verdicts = [rules_verdict(episode(tasks[case.task_id], case.answer, case.entries)) for case in every]
        assert reference.wait(timeout=600) == 0
    statuses = [json.loads(line) for line in (folder / "statuses").read_text().splitlines()]
    return list(zip(every, verdicts, statuses, strict=True))


def test_every_row_is_a_task_with_its_row_unchanged(file, rows):
    loaded = load_files([file])
    assert (len(loaded.tasks), loaded.rejections) == (812, [])
    assert [task.evaluator["row"] for task in loaded.tasks] == rows
    assert sum(task.evaluator["har"] for task in loaded.tasks) == 488
    assert all(len(probes_of(task, "")) == task.evaluator["har"] for task in loaded.tasks)


@pytest.mark.exhaustive
def test_every_verdict_is_the_packages_own(judged):
    assert _differences(judged) == []
    assert len(judged) > 7000


def test_sampled_verdicts_of_each_kind_are_the_packages_own(sampled):
    assert _differences(sampled) == []
    assert 250 < len(sampled) < 500
    kinds = {case.kind for case, _, _ in sampled}
    assert {f"{kind} {form}" for kind, form in SAME} | {f"wrong: {kind} {form}" for kind, form in OTHER} <= kinds
    assert {verdict.outcome for _, verdict, _ in sampled} >= {SUCCESS, Outcome.FAILURE}
    right = [verdict for case, verdict, _ in sampled if case.kind == "right" and case.task_id not in IMPOSSIBLE]
    assert {verdict.outcome for verdict in right} == {SUCCESS}
    wrong = [verdict for case, verdict, _ in sampled if case.kind.startswith("wrong")]
    assert SUCCESS not in {verdict.outcome for verdict in wrong}


def _differences(judged: list[tuple[Case, Verdict, str]]) -> list[tuple[int, str, Outcome, str]]:
    """The cases on which our verdict is not the package's status."""
    return [
        (case.task_id, case.kind, verdict.outcome, status)
        for case, verdict, status in judged
        if verdict.outcome is not OUTCOMES[status] and not _is_wrong_data(verdict, status)
    ]


def _is_wrong_data(verdict: Verdict, status: str) -> bool:
    """Where the package cannot read the answer's data, it gives no points, as for a failure."""
    is_unread = "the answer: error" in verdict.rationale
    return status == "error" and verdict.outcome is Outcome.FAILURE and is_unread


@pytest.mark.parametrize("data", [["Pittsburgh"], [], "Pittsburgh", {"name": "Pittsburgh"}, 5])
def test_data_where_there_is_none_are_a_failure(rows, tasks, data):
    """The package ends with an error of its own; as no verdict it would leave the failure out of every rate."""
    number = 8
    expected = next(row for row in rows if row["task_id"] == number)["eval"][0]
    assert expected["results_schema"]["type"] == "null"
    given = json.dumps({"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": data})
    assert rules_verdict(episode(tasks[number], given, None)).outcome is Outcome.FAILURE


@pytest.mark.exhaustive
def test_right_answers_are_right_and_wrong_ones_wrong(judged):
    refused = {case.task_id for case, verdict, _ in judged if case.kind == "right" and verdict.outcome is not SUCCESS}
    assert refused == {*IMPOSSIBLE}
    right = Counter(case.kind for case, verdict, _ in judged if verdict.outcome is SUCCESS and "right" in case.kind)
    assert right["right"] == right["right: fenced"] == right["right: in capitals"] == 614
    assert [case for case, verdict, _ in judged if case.kind.startswith("wrong") and verdict.outcome is SUCCESS] == []


@pytest.mark.exhaustive
def test_each_type_has_answers_in_other_forms(judged):
    right = Counter(case.kind for case, verdict, _ in judged if verdict.outcome is SUCCESS and "right" not in case.kind)
    assert right == OTHER_FORMS


@pytest.mark.exhaustive
def test_a_rationale_says_which_check_failed(judged):
    for case, verdict, _ in judged:
        if case.kind == "wrong: another status" and verdict.outcome is Outcome.FAILURE:
            assert "the answer: failure" in verdict.rationale
        if case.kind == "wrong: the last request is missing" and verdict.outcome is Outcome.FAILURE:
            assert "the network events: failure" in verdict.rationale
        assert verdict.judge_version == f"webarena-verified-{VERSION}"


@pytest.mark.parametrize("answer", ["[" * 100_000, '{"retrieved_data": ' + "[" * 900 + "]" * 900 + "}", "9" * 5000])
def test_an_answer_that_no_parser_takes_is_a_failure(rows, tasks, answer):
    row = next(row for row in rows if len(row["eval"]) == 1)
    assert rules_verdict(episode(tasks[row["task_id"]], answer, None)).outcome is Outcome.FAILURE


@pytest.mark.parametrize("answer", ["inf km", "9e999 km", "1e308 miles", "-Infinity m", "NaN ft"])
def test_a_length_that_is_not_finite_is_no_answer(answer):
    """The package compares a length with a tolerance, which infinity meets for every length."""
    read = json.loads(_readable(json.dumps({"retrieved_data": [answer]})))
    assert isinstance(read, str), "the package would take it"
    for usual in ("1.7 km", "748m", "Infinity War", "nan bread", "5e2 m"):
        assert isinstance(json.loads(_readable(json.dumps({"retrieved_data": [usual]}))), dict)


def test_an_episode_without_its_requests_has_no_verdict(rows, tasks):
    row = next(row for row in rows if len(row["eval"]) > 1)
    verdict = rules_verdict(episode(tasks[row["task_id"]], json.dumps(response(row)), None))
    assert verdict.outcome is Outcome.ERROR
    assert "network events are not known" in verdict.rationale


def test_answers_alone_need_no_requests(rows, tasks):
    row = next(row for row in rows if len(row["eval"]) == 1)
    assert rules_verdict(episode(tasks[row["task_id"]], json.dumps(response(row)), None)).outcome is Outcome.SUCCESS


def test_a_site_without_an_address_is_refused_before_any_episode(file, tasks):
    require_rules(tasks.values())
    with pytest.raises(RuleError, match="and 811 others cannot be judged"):
        require_rules(load_files([file]).tasks)


def test_a_missing_environment_is_an_error_that_names_the_command(monkeypatch, tmp_path):
    monkeypatch.setattr(client, "ENVIRONMENT", tmp_path)
    with pytest.raises(VerifiedError, match="make verified"):
        client.find_python()


def test_another_version_is_refused_before_a_process_is_started(monkeypatch, tmp_path):
    monkeypatch.setattr(client, "ENVIRONMENT", tmp_path)
    folder = tmp_path / "lib/python3.11/site-packages/webarena_verified-1.2.2.dist-info"
    for path in (tmp_path / ".stamp", tmp_path / "bin/python", folder / "METADATA"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: webarena-verified\nVersion: 1.2.2\n")
    with pytest.raises(VerifiedError, match=rf"has webarena-verified 1.2.2, and {VERSION} is needed.*make verified"):
        client.find_python()


def test_the_evaluator_that_died_is_started_again(rows, tasks):
    row = rows[0]
    given = episode(tasks[row["task_id"]], json.dumps(response(row)), None)
    assert rules_verdict(given).outcome is Outcome.SUCCESS
    running = client._evaluator(client.os.getpid())
    running._process.kill()
    running._process.wait()
    with pytest.raises(VerifiedError, match="ended with status -9"):
        rules_verdict(given)
    assert rules_verdict(given).outcome is Outcome.SUCCESS


def test_a_rule_knows_whether_it_needs_requests(rows, tasks):
    for row in rows:
        rule = rule_of(tasks[row["task_id"]].evaluator)
        assert isinstance(rule, VerifiedRule)
        assert rule.needs_har == (len(row["eval"]) > 1)
