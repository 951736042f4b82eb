"""`waymark compare`: two results of `waymark evaluate`, paired. Imports wait until it runs."""

from __future__ import annotations

import argparse
import sys


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to those of `waymark`."""
    one = commands.add_parser("compare", help="two models on the tasks of a benchmark that both tried")
    for name in ("first", "second"):
        one.add_argument(
            name, metavar="RESULT", help="a name in reports/benchmarks, such as webvoyager-595@0123456789ab"
        )
    one.set_defaults(run=compare)


def compare(options: argparse.Namespace) -> int:
    """Print the difference with its interval; returns the exit status."""
    from components.evaluation import EvaluationError
    from components.evaluation.head_to_head import head_to_head
    from components.evaluation.html import percent, points
    from components.params import RecipeError, load

    try:
        recipe = load()
        found = head_to_head(options.first, options.second, recipe.evaluation.bootstrap, recipe.seed)
    except (EvaluationError, RecipeError) as error:
        print(error, file=sys.stderr)
        return 1
    apart = f"; {found.apart} that one of them did not try are left out" if found.apart else ""
    print(f"{found.benchmark} ({found.version}), judged by {found.judge}: {found.paired.n} tasks{apart}")
    for letter, side in (("A", found.first), ("B", found.second)):
        low, high = side.ci95
        print(f"  {letter}  {side.model}: {percent(side.rate)} [{percent(low)}, {percent(high)}]")
    low, high = found.paired.ci95
    print(
        f"  A − B: {points(found.paired.diff)} points [{points(low)}, {points(high)}]; "
        f"won {found.won}, lost {found.lost}, the same {found.same}"
    )
    return 0
