"""`waymark study`: arms of a recipe with several seeds, compared."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from components.cli.command import ListAndExit, Subparsers, fail, positive


def add(commands: Subparsers) -> None:
    """Register `study`."""
    parser = commands.add_parser(
        "study",
        help="run recipes that differ in named keys with several seeds, and compare them; a second call resumes",
    )
    parser.add_argument("study", type=Path, metavar="STUDY", help="a file, or a name in recipes/studies/")
    parser.add_argument("--list", action=_ListStudies, help="list the studies in recipes/studies/")
    parser.add_argument("--side-by-side", type=positive, default=1, metavar="N", help="concurrent runs (default: 1)")
    parser.add_argument("--json", action="store_true", help="print the plan or the result as JSON")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument(
        "--dry-run", action="store_true", help="list the runs with their shared and stale stages; run nothing"
    )
    modes.add_argument("--plan", action="store_true", help="check the study, print its runs as JSON, and stop")
    modes.add_argument("--page", action="store_true", help="only compare the finished runs and write the page anew")
    parser.set_defaults(run=run)


class _ListStudies(ListAndExit):
    """Lists the shipped studies."""

    def lines(self) -> Iterator[str]:
        """A study each, with its question."""
        from components.params import RecipeError
        from components.study import STUDIES, read_study

        paths = sorted(STUDIES.glob("*.yaml"))
        if not paths:
            raise SystemExit(fail(f"{STUDIES}/ has no study: go to the folder of your checkout of Waymark first"))
        for path in paths:
            try:
                question = read_study(path).question
            except RecipeError as error:
                question = f"cannot be read: {error}"
            yield f"{path.stem:20} {question}"


def run(options: argparse.Namespace) -> int:
    """Run the study in place of this process; with `--plan` or `--page`, print its runs or its result. Returns the exit
    status."""
    if not (options.plan or options.page):
        command = [sys.executable, "-m", "flows.study", str(options.study), "--side-by-side", str(options.side_by_side)]
        command += ["--dry-run"] if options.dry_run else []
        command += ["--json"] if options.json else []
        sys.stdout.flush()
        os.execv(sys.executable, command)  # one process: what ends it ends the study
    from components.evaluation import EvaluationError
    from components.params import RecipeError
    from components.study import find_study, load_study, plan, report, summary
    from components.tracking import TrackingError

    try:
        study = load_study(find_study(options.study))
        if options.plan:
            print(json.dumps(plan(study)))
            return 0
        written = report(study)
    except (EvaluationError, RecipeError, TrackingError) as error:
        return fail(error)
    print(written.result.model_dump_json(indent=1) if options.json else f"{summary(written.result)}\n{written.page}")
    return 0
