"""Writes and logs the leaderboard: this recipe's evaluations, every benchmark run, the papers' rows."""

from __future__ import annotations

from pathlib import Path

from components.pipeline.stage_run import RESULTS, StageRun
from components.reports.leaderboard import Entry, benchmark_entries, published_entries, stage_entries
from components.reports.leaderboard_page import table, write_leaderboard

REPORTS, BENCHMARKS = Path("reports"), Path("reports/benchmarks")


def publish(run: StageRun) -> list[Entry]:
    """Write `reports/leaderboard.{md,html}`; log both and the rows as a table to the stage's MLflow run."""
    entries = [*stage_entries(RESULTS), *benchmark_entries(BENCHMARKS), *published_entries()]
    for path in write_leaderboard(entries, REPORTS):
        run.tracker.artifact(path)
    run.tracker.table("leaderboard", table(entries))
    return entries
