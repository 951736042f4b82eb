"""`waymark judge calibrate`: several judges against labels; `judge_attack`, `judge_review`, `judge_run`: the others."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

from components.cli.command import PARAMS, Subparsers, fail, nonempty, nonempty_path
from components.cli.judge_attack import add_attack
from components.cli.judge_review import add_review
from components.cli.judge_run import add_run
from components.cli.one_command import CommandBusy, only_command
from components.cli.registered_judges import registered_protocols

TRAJECTORIES = Path("data/judge/trajectories.parquet")


def add(commands: Subparsers) -> None:
    """Register `judge calibrate`, `judge run`, `judge attack` and `judge review`."""
    judge = commands.add_parser("judge", help="judges: verdicts on any trajectories, and how far they can be trusted")
    of_judge = judge.add_subparsers(required=True, metavar="COMMAND")
    add_run(of_judge)
    add_attack(of_judge)
    add_review(of_judge)
    parser = of_judge.add_parser(
        "calibrate", help="judges against labels: false-positive rate, accuracy, precision, recall, F1, kappa"
    )
    parser.add_argument(
        "--trajectories",
        type=nonempty_path,
        metavar="PATH",
        default=TRAJECTORIES,
        help="a file or folder of trajectories, as of judge run; default: %(default)s",
    )
    parser.add_argument(
        "--labels",
        type=nonempty_path,
        metavar="FILE",
        help="a verdicts.parquet, a CSV file of trajectory_id and outcome, AgentRewardBench's annotations.csv, or "
        "the word `state`: what the world's state says; default: the verdicts beside the trajectories",
    )
    parser.add_argument(
        "--judges",
        type=nonempty,
        metavar="NAMES",
        help="separated by commas: rules, functional (the benchmark's reward above 0.5), distilled, a protocol "
        "(openwebrl, webvoyager, …), mlflow:NAME[:SCREENSHOTS] for a judge that is registered there, vote; "
        "default: the judges that are available",
    )
    parser.add_argument(
        "--verdicts", action="append", default=[], metavar="NAME=FILE", help="a table of earlier verdicts; repeatable"
    )
    parser.add_argument("--split", choices=("dev", "test"), help="only this part of AgentRewardBench; default: both")
    parser.add_argument("--by", choices=("benchmark",), help="also a table per benchmark")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=calibrate)


def calibrate(options: argparse.Namespace) -> int:
    """Compare judges with labels and print the figures; returns the exit status."""
    import json

    from components.endpoint import EndpointError
    from components.formats import Unreadable
    from components.formats.agent_reward_bench import benchmark_of
    from components.judge import JudgeOutage, calibration_run, expert_annotations, judges, labels, truth
    from components.judge.calibration import NothingToCompare
    from components.judge.calibration_labels import read_calibration_labels
    from components.judge.calibration_table import as_text, aspects_as_text
    from components.params import RecipeError, load
    from components.reports import published
    from components.store import STATE, digest

    table = options.trajectories
    labels_file = options.labels or table.with_name("verdicts.parquet")
    by_state = str(options.labels) == truth.STATE
    if missing := [str(path) for path in (table, *([] if by_state else [labels_file])) if not path.exists()]:
        is_made = {str(TRAJECTORIES), str(TRAJECTORIES.with_name("verdicts.parquet"))}.issuperset(missing)
        fix = "`dvc repro judge_rollouts` makes data/judge" if is_made else "correct --trajectories or --labels"
        return fail(f"{', '.join(missing)}: no such file; {fix}")
    pairs = [(name, Path(file)) for name, _, file in (argument.partition("=") for argument in options.verdicts)]
    if unreadable := [f"{name}={file}" for name, file in pairs if not name or not file.is_file()]:
        return fail(f"--verdicts {', '.join(unreadable)}: write NAME=FILE, with a file that exists")
    verdicts = dict(pairs)
    if len(verdicts) < len(pairs):
        return fail("--verdicts: two tables have one name; give each its own")

    try:
        recipe = load(PARAMS)
        known = read_calibration_labels(table, None if by_state else labels_file, options.split)
        named = [name.strip() for name in (options.judges or "").split(",")]
        names = list(dict.fromkeys(named)) if options.judges else known.judges(recipe)
        state = STATE / "calibrate" / digest(str(table.resolve()), str(labels_file.resolve()))
        with only_command(state) if recipe.judge.model is not None else nullcontext():
            calibrated = calibration_run.calibrate_judges(
                lambda: labels.read_trajectories(table, known.outcomes),
                known.outcomes,
                names,
                verdicts,
                recipe,
                state,
                {"benchmark": benchmark_of}.get(options.by),
                registered_protocols(names, recipe),
            )
        ceiling = known.second_expert(recipe)
        calibrations = [*calibrated.overall, *([ceiling] if ceiling is not None else [])]
    except (RecipeError, CommandBusy, EndpointError, JudgeOutage) as error:
        return fail(error)
    except (labels.CannotCompare, judges.UnavailableJudge, Unreadable, NothingToCompare) as error:
        return fail(error)
    _say_left_out(known.left_out, calibrated.without_trajectory, labels_file)
    if calibrated.repeated:
        print(
            f"{calibrated.repeated} labelled trajectories have the id of an earlier one and are left out: the first "
            "of each counts",
            file=sys.stderr,
        )
    for name in calibrated.without_verdict:
        print(f"{name} gave no verdict on any of these trajectories and is in no table", file=sys.stderr)
    aspects = expert_annotations.summarise_aspects(known.experts) if known.experts is not None else []
    if options.json:
        plain = [calibration.model_dump(mode="json") for calibration in calibrations]
        groups = {
            group: [calibration.model_dump(mode="json") for calibration in members]
            for group, members in calibrated.by_group.items()
        }
        whole = {"overall": plain, "by": groups, "aspects": [aspect.model_dump(mode="json") for aspect in aspects]}
        print(json.dumps(whole if groups or aspects else plain, indent=1))
        return 0
    print(as_text(calibrations, published.judge_agreement()))
    for group, members in calibrated.by_group.items():
        print(f"\n{group}\n{as_text(members, {})}")
    if aspects:
        print(f"\n{aspects_as_text(aspects)}")
    return 0


def _say_left_out(left_out: list[str], without_trajectory: int, file: Path) -> None:
    """Say on standard error which labels do not count."""
    if left_out:
        shown = "; ".join(left_out[:3]) + ("; …" if len(left_out) > 3 else "")
        print(f"{len(left_out)} labels of {file} are left out: {shown}", file=sys.stderr)
    if without_trajectory:
        print(f"{without_trajectory} labels of {file} have no trajectory and are left out", file=sys.stderr)
