"""`waymark compare`: two results of `waymark evaluate`, paired by task."""

from __future__ import annotations

import argparse

from components.cli.command import Subparsers, fail


def add(commands: Subparsers) -> None:
    """Register `compare`."""
    parser = commands.add_parser("compare", help="two models on the tasks of a benchmark that both attempted")
    for name in ("first", "second"):
        parser.add_argument(
            name, metavar="RESULT", help="a name in reports/benchmarks, such as webvoyager-595@0123456789ab"
        )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print both rates and their difference with intervals; returns the exit status."""
    from components.benchmarks.compare import compare
    from components.evaluation import EvaluationError
    from components.params import RecipeError, load
    from components.reports.formats import percent, points

    try:
        recipe = load()
        comparison = compare(options.first, options.second, recipe.evaluation.bootstrap, recipe.seed)
    except (EvaluationError, RecipeError) as error:
        return fail(error)
    counts = {
        "that only one attempted": comparison.unpaired,
        "that the environment ended on one side": comparison.ended,
        "without a verdict on one side": comparison.unjudged,
    }
    left_out = [f"{count} {which}" for which, count in counts.items() if count]
    print(
        f"{comparison.benchmark} ({comparison.version}), judged by {comparison.judge}: "
        f"{comparison.paired.n} tasks" + (f"; left out: {', '.join(left_out)}" if left_out else "")
    )
    same_model = comparison.first.model == comparison.second.model
    for letter, name, side in (("A", options.first, comparison.first), ("B", options.second, comparison.second)):
        low, high = side.ci95
        label = f"{side.model} ({name})" if same_model else side.model
        print(f"  {letter}  {label}: {percent(side.rate)} [{percent(low)}, {percent(high)}]")
    low, high = comparison.paired.ci95
    print(
        f"  A − B: {points(comparison.paired.diff)} points [{points(low)}, {points(high)}]; "
        f"won {comparison.won}, lost {comparison.lost}, the same {comparison.same}"
    )
    return 0
