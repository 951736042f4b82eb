"""Records of one trajectory: one of them is judged, the first that has all of its screenshots."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.formats.interface import ReadTrajectory
from components.judge.judge_run import RunOptions, judge_records
from components.records import Verdict
from components.store import read_table
from tests.samples import a_task, a_trajectory, recipe

TRAJECTORY = a_trajectory(a_task(evaluator={"type": "qa", "answers": ["42"]}), answer="42")
WHOLE, BLIND = (), ("screenshot2.png does not exist",)


@pytest.mark.parametrize(
    ("copies", "reasons"),
    [
        ([WHOLE, WHOLE], [None, "duplicate"]),
        ([BLIND, WHOLE], ["duplicate", None]),
        ([BLIND, WHOLE, BLIND, WHOLE], ["duplicate", None, "duplicate", "duplicate"]),
        ([WHOLE, BLIND], [None, "duplicate"]),
        ([BLIND, BLIND], ["missing_screenshot", "duplicate"]),
        ([BLIND, BLIND, WHOLE], ["duplicate", "duplicate", None]),
    ],
)
def test_the_first_whole_copy_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies, reasons) -> None:
    monkeypatch.chdir(tmp_path)
    records = [ReadTrajectory(f"row {row}", TRAJECTORY, missing) for row, missing in enumerate(copies)]
    summary = judge_records(records, RunOptions(judge="rules", out=tmp_path / "out"), recipe())
    verdicts = read_table(tmp_path / "out/verdicts.parquet", Verdict)
    assert len({verdict.trajectory_id for verdict in verdicts}) == len(copies)
    assert summary.judged == reasons.count(None)
    counts = {reason: reasons.count(reason) for reason in reasons if reason is not None}
    assert {str(reason): count for reason, count in summary.unjudged.items()} == counts
    assert summary.bounds == ((1.0, 1.0) if None in reasons else (0.0, 1.0)), "copies are no further attempts"
    own = [verdict.trajectory_id for verdict in verdicts].index(TRAJECTORY.trajectory_id)
    assert reasons[own] is None if None in reasons else own == 0
