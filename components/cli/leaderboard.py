"""`waymark leaderboard`: measured results beside the papers' rows."""

from __future__ import annotations

import argparse

from components.cli.command import Subparsers, fail


def add(commands: Subparsers) -> None:
    """Register `leaderboard`."""
    parser = commands.add_parser(
        "leaderboard",
        help="measured results beside published rows: writes reports/leaderboard.* and a table in MLflow",
    )
    parser.set_defaults(run=run)


def run(_options: argparse.Namespace) -> int:
    """Rewrite the leaderboard and print the measured rows; returns the exit status."""
    from components.benchmarks.leaderboard import main as rewrite
    from components.evaluation.errors import EvaluationError
    from components.params import RecipeError
    from components.pipeline.stage_run import StageBusy
    from components.tracking import TrackingError

    try:
        entries = rewrite()
    except (EvaluationError, RecipeError, StageBusy, TrackingError) as error:
        return fail(error)
    for entry in entries:
        if entry.mark == "measured":
            rate = "invalid" if entry.rate is None else f"{entry.rate:.1%}"
            print(f"{entry.benchmark}: {entry.model} {rate} ({entry.task_set})")
    print("reports/leaderboard.md and reports/leaderboard.html, and a table in MLflow")
    return 0
