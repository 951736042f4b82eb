"""The command `waymark`. Imports wait until a command needs them, so that `waymark --help` answers at once."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from pathlib import Path

from components import cli_blocklist, cli_compare, cli_evaluate, cli_sets, cli_tasks

LOCK = Path("requirements/cpu.txt")
PARAMS = Path("params.yaml")
JUDGED = Path("data/judge")
TABLES = ("data/evaluation/rl", "data/evaluation/sft", "data/evaluation/base", "data/judge", "data/teacher")
"""Where `view` looks for a trajectory, the best model's first."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    options = parser().parse_args(arguments)
    return options.run(options)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="waymark", description="Trains visual web agents; see README.md.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    one = commands.add_parser("doctor", help="what is missing on this machine, and the fix")
    one.add_argument("--fix", action="store_true", help="install Chromium if there is none")
    one.add_argument("--lock", type=Path, metavar="FILE", default=LOCK, help="versions to expect; default: %(default)s")
    one.set_defaults(run=doctor)

    one = commands.add_parser("validate", help="check recipes: field, value and what is allowed")
    one.add_argument("files", nargs="+", type=Path, metavar="FILE")
    one.set_defaults(run=validate)

    one = commands.add_parser("use", help="validate a recipe and put it in params.yaml")
    one.add_argument("recipe", type=Path, metavar="RECIPE", help="a file, or a name in recipes/")
    one.set_defaults(run=use)

    one = commands.add_parser("params", help="the recipe in use, with every default filled in")
    one.add_argument("file", nargs="?", type=Path, default=PARAMS, metavar="FILE")
    one.set_defaults(run=params)

    cli_evaluate.add(commands)
    cli_compare.add(commands)

    one = commands.add_parser("view", help="a trajectory as a page: screenshots, clicks, reasoning, feedback, verdict")
    one.add_argument("trajectory_id", nargs="?", metavar="TRAJECTORY_ID", help="default: the first of the best model")
    one.add_argument("--list", action="store_true", help="list the trajectories there are")
    one.add_argument("--table", type=Path, metavar="PATH", help="a trajectories.parquet; default: every stage's")
    one.add_argument("--out", type=Path, metavar="FILE", help="default: reports/view/TRAJECTORY_ID.html")
    one.set_defaults(run=view)

    cli_blocklist.add(commands, PARAMS, TABLES)

    judge = commands.add_parser("judge", help="how far judges can be trusted").add_subparsers(
        required=True, metavar="WHAT"
    )
    one = judge.add_parser("calibrate", help="judges against labels: accuracy, precision, recall, F1, kappa, confusion")
    one.add_argument(
        "--trajectories",
        type=Path,
        metavar="PATH",
        default=JUDGED / "trajectories.parquet",
        help="a trajectories.parquet, or AgentRewardBench's folder `trajectories`; default: %(default)s",
    )
    one.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="a verdicts.parquet, a CSV file of trajectory_id and outcome, or AgentRewardBench's annotations.csv; "
        "default: the verdicts beside the trajectories",
    )
    one.add_argument(
        "--judges",
        metavar="NAMES",
        help="with commas: rules, distilled, a protocol (openwebrl, webvoyager, …), vote; default: those there are",
    )
    one.add_argument(
        "--said", action="append", default=[], metavar="NAME=FILE", help="verdicts that are already there; repeatable"
    )
    one.add_argument("--json", action="store_true", help="print JSON instead of tables")
    one.set_defaults(run=calibrate)

    tasks = commands.add_parser(
        "tasks", help="task sets: where they come from, what changed; rubrics, smaller tasks and a test set, by a model"
    ).add_subparsers(required=True, metavar="COMMAND")
    cli_sets.add(tasks)
    cli_tasks.add(tasks, PARAMS)

    one = commands.add_parser(
        "leaderboard", help="our runs beside the published rows: reports/ and MLflow, written anew"
    )
    one.set_defaults(run=leaderboard)

    one = commands.add_parser("clean", help="remove journals and checkpoints of earlier runs; outputs stay")
    one.set_defaults(run=clean)
    return top


def doctor(options: argparse.Namespace) -> int:
    from components import doctor as room

    if options.fix:
        from components.browser import ChromiumNotFoundError
        from components.sites import KiwixError

        try:
            print(f"chromium: {room.install_chromium()}")
            if room.wants_kiwix(PARAMS):
                print(f"kiwix: {room.install_kiwix()}")
        except (ChromiumNotFoundError, KiwixError) as error:
            return _fail(str(error))
    return room.show(room.examine(lock=options.lock))


def validate(options: argparse.Namespace) -> int:
    from components.params import RecipeError, load
    from components.sites import require_tasks

    status = 0
    for file in options.files:
        try:
            require_tasks(load(file))
            print(f"{file}: ok")
        except RecipeError as error:
            status = _fail(str(error))
    return status


def use(options: argparse.Namespace) -> int:
    from components import store
    from components.params import RecipeError, load
    from components.sites import require_tasks

    named = Path("recipes") / f"{options.recipe}.yaml"
    file = options.recipe if options.recipe.exists() or not named.exists() else named
    try:
        recipe = load(file)
        require_tasks(recipe)
    except RecipeError as error:
        return _fail(str(error))
    if file.resolve() != PARAMS.resolve():
        partial = PARAMS.with_name(".params.yaml.part")
        partial.write_text(file.read_text())
        store.publish(partial, PARAMS)
    print(f"params.yaml is now {recipe.name}; `dvc repro` or `make demo` runs what it changes")
    return 0


def params(options: argparse.Namespace) -> int:
    import yaml

    from components.params import RecipeError, load
    from components.secrets import redacted

    try:
        print(redacted(yaml.safe_dump(load(options.file).model_dump(mode="json"), sort_keys=False)), end="")
    except RecipeError as error:
        return _fail(str(error))
    return 0


def view(options: argparse.Namespace) -> int:
    from components.records import Trajectory
    from components.store import iter_table

    tables = [options.table] if options.table else [Path(folder) / "trajectories.parquet" for folder in TABLES]
    tables = [table for table in tables if table.exists()]
    if not tables:
        where = options.table or "data/"
        return _fail(f"no trajectories in {where}; run `make demo`, or name a table with --table")
    if options.list:
        for table in tables:
            print(f"{table}:")
            for one in iter_table(table, Trajectory):
                print(f"  {one.trajectory_id}  {len(one.turns)} turns  {one.termination}  {one.task.intent[:70]}")
        return 0
    for table in tables:
        for one in iter_table(table, Trajectory):
            if options.trajectory_id in (None, one.trajectory_id):
                return _write(one, table, options.out)
    return _fail(
        f"no trajectory {options.trajectory_id or 'in these tables'}; `waymark view --list` lists those there are"
    )


def calibrate(options: argparse.Namespace) -> int:
    import json

    from components.endpoint import EndpointError
    from components.evaluation import published
    from components.judge import agent_reward_bench, contest
    from components.judge.calibration import NothingToCompare, as_text
    from components.judge.model_judge import JudgeOutage
    from components.params import RecipeError, load
    from components.store import STATE

    table = options.trajectories
    labels = options.labels or table.with_name("verdicts.parquet")
    if missing := [str(path) for path in (table, labels) if not path.exists()]:
        return _fail(f"{', '.join(missing)}: not there; `dvc repro judge_rollouts` makes data/judge")

    try:
        recipe = load(PARAMS)
        there = [("rules", True), ("distilled", contest.DISTILLED.exists())]
        there.append((recipe.judge.protocol, recipe.judge.endpoint is not None))
        names = options.judges.split(",") if options.judges else [name for name, is_there in there if is_there]
        said = {name: Path(file) for name, _, file in (one.partition("=") for one in options.said)}
        if unreadable := [f"{name}={file}" for name, file in said.items() if not file.is_file()]:
            return _fail(f"--said {', '.join(unreadable)}: write NAME=FILE, with a file that is there")
        found = contest.contest(
            lambda: contest.read_trajectories(table),
            contest.read_labels(labels),
            names,
            said,
            recipe,
            STATE / "calibrate",
        )
    except (RecipeError, EndpointError, JudgeOutage) as error:
        return _fail(str(error))
    except (contest.CannotCompare, agent_reward_bench.Unreadable, NothingToCompare) as error:
        return _fail(str(error))
    if options.json:
        print(json.dumps([one.model_dump(mode="json") for one in found], indent=1))
    else:
        tables = [published.table("OpenWebRL", number, "judge agreement") for number in ("3", "9")]
        named = {f"{rows[0].source}: {rows[0].note}": {row.model: row.values for row in rows} for rows in tables}
        print(as_text(found, named))
    return 0


def leaderboard(_options: argparse.Namespace) -> int:
    from components.evaluation.errors import EvaluationError
    from components.params import RecipeError
    from components.stages.leaderboard import main as stage

    try:
        entries = stage()
    except (EvaluationError, RecipeError) as error:
        return _fail(str(error))
    for one in entries:
        if one.mark == "measured":
            print(
                f"{one.benchmark}: {one.model} {'invalid' if one.rate is None else f'{one.rate:.1%}'} ({one.task_set})"
            )
    print("reports/leaderboard.md and reports/leaderboard.html, and a table in MLflow")
    return 0


def clean(_options: argparse.Namespace) -> int:
    import shutil

    from components.store import STATE

    for name in ("state", "progress", "logs"):
        if (STATE / name).exists():
            shutil.rmtree(STATE / name)
            print(f"removed {STATE / name}")
    return 0


def _write(trajectory: object, table: Path, out: Path | None) -> int:
    from components.evaluation.view import write_page
    from components.records import Trajectory, Verdict
    from components.store import iter_table

    assert isinstance(trajectory, Trajectory)
    verdicts = table.with_name("verdicts.parquet")
    verdict = None
    if verdicts.exists():
        matching = (one for one in iter_table(verdicts, Verdict) if one.trajectory_id == trajectory.trajectory_id)
        verdict = next(matching, None)
    path = out or Path("reports/view") / f"{trajectory.trajectory_id}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_page(trajectory, verdict, path)
    print(path)
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin":
        webbrowser.open(path.resolve().as_uri())
    return 0


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
