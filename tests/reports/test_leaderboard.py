"""Ours beside theirs: marked, grouped by benchmark with the set's version, and an invalid run is no number."""

from __future__ import annotations

import json
import re

import pytest

from components.evaluation import EvaluationError, success
from components.records import Outcome, Termination
from components.reports.leaderboard import benchmark_entries, benchmark_of, published_entries, stage_entries
from components.reports.leaderboard_page import COLUMNS, by_benchmark, table, write_leaderboard
from tests.evaluation.run_records import task, trajectory, verdict

VERSION = "2025-08-31 sha256:5c8cb175fdac"


def summary(solved, of=10, broken=0):
    rows = [trajectory(task(f"t{index}")) for index in range(of)]
    rows += [trajectory(task(f"b{index}"), termination=Termination.ENV_ERROR) for index in range(broken)]
    verdicts = [
        verdict(one, Outcome.SUCCESS if index < solved else Outcome.FAILURE) for index, one in enumerate(rows[:of])
    ]
    return success(rows, verdicts).model_dump(mode="json", exclude_none=True)


def result(**changes):
    """What a benchmark run writes."""
    fields = {
        "benchmark": "webvoyager-595",
        "version": VERSION,
        "model": "ours-4b",
        "summary": summary(8),
        "settings": {"recipe": "openwebrl-4b", "max_steps": 30, "viewport": [1280, 720]},
        "measured_at": "2026-02-03T04:05:06+00:00",
    }
    return {**fields, **changes}


@pytest.fixture
def folder(tmp_path):
    def write(**results):
        for name, value in results.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(value))
        return tmp_path

    return write


def test_our_run_is_ranked_by_its_rate_among_the_published_rows(folder):
    groups = by_benchmark([*published_entries(), *benchmark_entries(folder(one=result()))])
    assert next(iter(groups)) == "webvoyager-595"
    rows = groups["webvoyager-595"]
    assert [(one.mark, one.rate) for one in rows[:5]] == [
        ("published", 0.906),
        ("published", 0.886),
        ("published", 0.856),
        ("measured", 0.8),
        ("published", 0.793),
    ]
    ours = rows[3]
    assert (ours.task_set, ours.n, ours.source) == (f"webvoyager-595 {VERSION}", 10, "2026-02-03")
    assert ours.settings == "recipe openwebrl-4b, max steps 30"
    assert "FARA" in rows[0].task_set


def test_another_set_of_the_same_name_is_another_benchmark(folder):
    groups = by_benchmark([*published_entries(), *benchmark_entries(folder(one=result(benchmark="webvoyager-643")))])
    assert [one.mark for one in groups["webvoyager-643"]] == ["measured"]
    assert all(one.mark == "published" for one in groups["webvoyager-595"])


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("online-mind2web", "online-mind2web"),
        ("Online-Mind2Web", "online-mind2web"),
        ("online-mind2web-later", "online-mind2web-later"),
        ("Online-Mind2Web-2025-06", "Online-Mind2Web-2025-06"),
        ("webarena", "webarena"),
        ("WebArena_Lite", "webarena-lite"),
        ("miniwob", "miniwob"),
        ("nqx", "nqx"),
    ],
)
def test_a_set_is_among_the_published_rows_of_its_own_name_alone(name, group):
    assert benchmark_of(name) == group


OF_EARLIER = "2 episodes ended by the environment, 0 not judged"
BROKEN = "5 of 15 episodes were ended by the environment and 0 were not judged (evaluation.max_aborted is 0.1)"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"summary": summary(9, broken=5)}, BROKEN),
        ({"summary": None, "status": "invalid", "problem": "no network"}, "no network"),
        ({"status": "invalid", "problem": "blocked everywhere"}, "blocked everywhere"),
        ({"summary": {**summary(9), "valid": False, "aborted": 2}}, OF_EARLIER),
    ],
)
def test_an_invalid_run_has_no_number_and_says_why(folder, tmp_path, changes, why):
    (entry,) = benchmark_entries(folder(one=result(**changes)))
    assert (entry.rate, entry.ci95, entry.n, entry.note) == (None, None, None, why)
    assert by_benchmark([*published_entries(), entry])["webvoyager-595"][-1] is entry
    text, page = write_leaderboard([entry], tmp_path)
    assert f"| measured | ours-4b | invalid | {why} |" in text.read_text()
    assert '<span class="tag bad">invalid</span>' in page.read_text()
    assert (
        re.findall(r"\d%", page.read_text().partition("<tbody>")[2] + text.read_text().partition("measured")[2]) == []
    )


def test_the_rate_without_aborted_tasks_stands_beside_the_official_one(folder, tmp_path):
    (entry,) = benchmark_entries(folder(one=result(summary=summary(9, broken=1))))
    assert (entry.rate, entry.without_aborted) == (pytest.approx(9 / 11), 0.9)
    text, page = (path.read_text() for path in write_leaderboard([entry], tmp_path))
    assert "| 81.8% |" in text
    assert "| 90.0% |" in text
    assert ">90.0%</td>" in page


def test_a_partial_run_says_so_beside_its_number(folder):
    (entry,) = benchmark_entries(folder(one=result(status="partial", problem="30 of 595 tasks")))
    assert (entry.rate, entry.note) == (0.8, "30 of 595 tasks")


def test_a_run_that_measured_nothing_is_not_called_invalid(folder, tmp_path):
    problem = "0 of 595 tasks are done, stopped at the budget: usd 1 (1.02 spent)"
    (entry,) = benchmark_entries(folder(one=result(summary=None, status="partial", problem=problem)))
    text, page = (path.read_text() for path in write_leaderboard([entry], tmp_path))
    assert f"| measured | ours-4b | nothing measured | {problem} |" in text
    assert "nothing measured</span>" in page
    assert ">invalid<" not in page


def test_an_invalid_second_judge_of_a_partial_run_says_why_itself(folder):
    also = {"rules": {**summary(9), "valid": False, "problems": ["6 were not judged"]}}
    partial = result(status="partial", problem="16 of 20 tasks are done", judge="webvoyager", also=also)
    _, other = benchmark_entries(folder(one=partial))
    assert (other.rate, other.note) == (None, "6 were not judged; 16 of 20 tasks are done")


def test_each_judge_has_a_row(folder):
    (official, other) = benchmark_entries(folder(one=result(judge="webvoyager", also={"rules": summary(5)})))
    assert (official.rate, other.rate) == (0.8, 0.5)
    assert [one.settings.split(", ")[0] for one in (official, other)] == ["judge webvoyager", "judge rules"]


def test_the_pipelines_evaluations_and_their_new_families_are_rows(folder):
    apart = summary(3)
    files = {
        "evaluate@base": {**summary(2), "recipe": "demo", "tasks": "miniwob", "heldout": apart, "wall_s": 3.0},
        "evaluate@rl": {**summary(9), "stage": "evaluate@rl"},
    }
    entries = stage_entries(folder(**files))
    assert [(one.benchmark, one.model, one.rate) for one in entries] == [
        ("miniwob (demo)", "demo base", 0.2),
        ("miniwob, new families (demo)", "demo base", 0.3),
        ("test tasks (an earlier recipe)", "an earlier recipe RL", 0.9),
    ]
    assert apart["task_set"] in entries[1].task_set


@pytest.mark.parametrize("text", ["{", "[]", '{"benchmark": "x"}', '{"benchmark": "x", "version": "1", "summary": 3}'])
def test_a_file_that_is_no_result_is_named(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(EvaluationError, match=r"x\.json .*; run the evaluation again, or remove the file"):
        benchmark_entries(tmp_path)


def test_every_row_is_marked_on_both_pages_and_hostile_names_stay_text(folder, tmp_path):
    entries = [*published_entries(), *benchmark_entries(folder(one=result(model="<script>a|b\n</script>")))]
    text, page = (path.read_text() for path in write_leaderboard(entries, tmp_path))
    assert page.count(">published</span>") == text.count("| published |") == len(entries) - 1
    assert page.count(">measured</span>") == text.count("| measured |") == 1
    assert "<script" not in page
    assert "<script>a\\|b </script>" in text
    assert "left out" in page


def test_the_table_has_a_value_per_row_and_column(folder):
    entries = [*published_entries(), *benchmark_entries(folder(one=result()))]
    columns = table(entries)
    assert list(columns) == COLUMNS
    assert {len(values) for values in columns.values()} == {len(entries)}
    assert columns["mark"].count("measured") == 1
    where = columns["mark"].index("measured")
    assert (columns["success"][where], columns["tasks"][where]) == (0.8, 10)


def test_ablations_are_marked_and_can_be_left_out():
    rows = published_entries()
    kept = published_entries(ablations=False)
    assert [one for one in rows if one.note != "ablation"] == kept
    assert len(kept) < len(rows)
    assert not any("/" in one.benchmark or one.benchmark == "average" for one in rows)
