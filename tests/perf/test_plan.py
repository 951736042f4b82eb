"""`perf.plan` holds a plan that was calibrated on one run to another run."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from components.params import RecipeError
from components.plan.finished_run import read_run
from components.store import read_json, write_json
from perf.plan import compare, main, summary
from tests.plan.test_calibration import run  # noqa: F401  (a fixture)

SLOWER = 1.25


@pytest.fixture
def slower(run: Path, tmp_path: Path) -> Path:  # noqa: F811
    """The same run on a machine that took a quarter more time for every stage."""
    folder = tmp_path / "slower"
    shutil.copytree(run, folder)
    for path in (folder / "reports/stages").glob("*.json"):
        result = read_json(path)
        result["wall_s"] = (result["wall_s"] - result.get("champion", {}).get("wall_s", 0.0)) * SLOWER
        result.pop("champion", None)
        write_json(path, result)
    return folder


def test_the_error_of_a_plan_is_its_share_of_the_time_taken(run: Path, slower: Path):  # noqa: F811
    rows = compare(read_run(slower), run)
    assert {"collect_tasks", "train_sft", "train_rl@short", "evaluate@rl"} <= {row.stage for row in rows}
    assert [row.error for row in rows] == pytest.approx([1 / SLOWER - 1] * len(rows), abs=0.06)
    figures = summary(rows)
    assert figures["error"] == pytest.approx(1 / SLOWER - 1, abs=0.03)
    assert figures["planned_s"] == pytest.approx(sum(row.planned_s for row in rows), abs=0.1)
    assert figures["within_bar"] == sum(abs(row.error) <= 0.2 for row in rows)


def test_a_plan_by_the_rates_of_the_same_run_is_refused(run: Path):  # noqa: F811
    with pytest.raises(RecipeError, match="is the run itself: name another run"):
        compare(read_run(run), run)


def test_without_another_run_the_rates_are_assumed(slower: Path):
    assumed, calibrated = compare(read_run(slower)), read_run(slower)
    assert [row.taken_s for row in assumed] == [calibrated.wall_s(row.stage) for row in assumed]
    assert any(abs(row.error) > 0.2 for row in assumed)


def test_the_last_line_is_json(run: Path, slower: Path, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setattr(sys, "argv", ["perf.plan", str(slower), "--calibrated-on", str(run)])
    main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["stage", "planned", "taken", "error"]
    assert json.loads(lines[-1])["stages"].keys() == {line.split()[0] for line in lines[1:-1]}


def test_a_folder_without_a_run_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["perf.plan", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"perf\.plan: .* has no finished stage"):
        main()
