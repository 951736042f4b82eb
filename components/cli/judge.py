"""`waymark judge calibrate`: several judges against labels, as a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from components.cli.command import PARAMS, Subparsers, fail

TRAJECTORIES = Path("data/judge/trajectories.parquet")


def add(commands: Subparsers) -> None:
    """Register `judge calibrate`."""
    judge = commands.add_parser("judge", help="how far judges can be trusted")
    parser = judge.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "calibrate", help="judges against labels: accuracy, precision, recall, F1, kappa, confusion"
    )
    parser.add_argument(
        "--trajectories",
        type=Path,
        metavar="PATH",
        default=TRAJECTORIES,
        help="a trajectories.parquet, or AgentRewardBench's folder `trajectories`; default: %(default)s",
    )
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="a verdicts.parquet, a CSV file of trajectory_id and outcome, AgentRewardBench's annotations.csv, or "
        "the word `state`: what the world's state says; default: the verdicts beside the trajectories",
    )
    parser.add_argument(
        "--judges",
        metavar="NAMES",
        help="separated by commas: rules, distilled, a protocol (openwebrl, webvoyager, …), vote; "
        "default: the judges that are available",
    )
    parser.add_argument(
        "--verdicts", action="append", default=[], metavar="NAME=FILE", help="a table of earlier verdicts; repeatable"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=calibrate)


def calibrate(options: argparse.Namespace) -> int:
    """Compare judges with labels and print the figures; returns the exit status."""
    import json

    from components.endpoint import EndpointError
    from components.judge import JudgeOutage, agent_reward_bench, calibration_run, labels, truth
    from components.judge.calibration import NothingToCompare
    from components.judge.calibration_table import as_text
    from components.params import RecipeError, load
    from components.reports import published
    from components.store import STATE

    table = options.trajectories
    labels_file = options.labels or table.with_name("verdicts.parquet")
    by_state = str(options.labels) == truth.STATE
    if missing := [str(path) for path in (table, *([] if by_state else [labels_file])) if not path.exists()]:
        return fail(f"{', '.join(missing)}: no such file; `dvc repro judge_rollouts` makes data/judge")
    pairs = (argument.partition("=") for argument in options.verdicts)
    verdicts = {name: Path(file) for name, _, file in pairs}
    if unreadable := [f"{name}={file}" for name, file in verdicts.items() if not file.is_file()]:
        return fail(f"--verdicts {', '.join(unreadable)}: write NAME=FILE, with a file that exists")

    try:
        recipe = load(PARAMS)
        trajectories = lambda: labels.read_trajectories(table)  # noqa: E731
        names = options.judges.split(",") if options.judges else calibration_run.available_judges(recipe.judge)
        calibrations = calibration_run.calibrate_judges(
            trajectories,
            truth.read_truth(trajectories()) if by_state else labels.read_labels(labels_file),
            names,
            verdicts,
            recipe,
            STATE / "calibrate",
        )
    except (RecipeError, EndpointError, JudgeOutage) as error:
        return fail(error)
    except (labels.CannotCompare, agent_reward_bench.Unreadable, NothingToCompare) as error:
        return fail(error)
    if options.json:
        print(json.dumps([calibration.model_dump(mode="json") for calibration in calibrations], indent=1))
    else:
        print(as_text(calibrations, published.judge_agreement()))
    return 0
