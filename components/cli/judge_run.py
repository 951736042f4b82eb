"""`waymark judge run`: verdicts on the trajectories of a file or folder, ours or others', without labels."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from components.cli.command import PARAMS, Subparsers, cannot_write, fail, nonempty, nonempty_path, web_address
from components.cli.registered_judges import registered_protocols

if TYPE_CHECKING:
    from components.judge.joined_tasks import JoinedTasks
    from components.params import Params

WITHOUT_MODEL = ("functional", "distilled")
"""Judges that never ask `judge.model`."""
EVERY = 20
"""Verdicts between two lines of progress."""


def add_run(commands: Subparsers) -> None:
    """Register `judge run`."""
    parser = commands.add_parser(
        "run", help="a judge on any trajectories, ours or others', without labels; a second run goes on with the first"
    )
    parser.add_argument(
        "path", type=nonempty_path, metavar="PATH", help="a file or folder of trajectories in one of the formats"
    )
    parser.add_argument(
        "--out",
        type=nonempty_path,
        required=True,
        metavar="FOLDER",
        help="the folder for verdicts.parquet, verdicts.jsonl and summary.json",
    )
    add_format(parser)
    parser.add_argument(
        "--judge",
        type=nonempty,
        metavar="NAME",
        help="rules, functional, distilled, a protocol (openwebrl, webjudge, …) or mlflow:NAME[:SCREENSHOTS] for a "
        "judge that is registered there; default: the protocol of judge.model, or rules without one",
    )
    parser.add_argument(
        "--tasks",
        type=nonempty_path,
        action="append",
        default=[],
        metavar="FILE",
        help="a task file whose references and rules are joined by id or words; repeatable",
    )
    parser.add_argument(
        "--answers", type=nonempty_path, metavar="FILE", help="WebVoyager's reference answers, for --tasks"
    )
    parser.add_argument(
        "--allow-missing", action="store_true", help="judge trajectories that lack screenshots by those that are there"
    )
    add_endpoint(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.set_defaults(run=run)


def add_format(parser: argparse.ArgumentParser) -> None:
    """Register the option that names the format of trajectories."""
    parser.add_argument(
        "--format",
        type=nonempty,
        metavar="NAME",
        help="of trajectories: atif, waymark (our tables), webvoyager, …; default: recognised by the files",
    )


def add_endpoint(parser: argparse.ArgumentParser) -> None:
    """Register the options that name the model of a judge: a recipe, or an endpoint in its place."""
    parser.add_argument(
        "--recipe", type=nonempty, metavar="NAME|FILE", help="whose judge.model is asked; default: params.yaml"
    )
    parser.add_argument(
        "--url",
        type=web_address,
        help="the address of an endpoint, up to /v1, without a price, in place of the recipe's; with --model",
    )
    parser.add_argument("--model", type=nonempty, metavar="NAME", help="the endpoint's model; with --url")
    parser.add_argument(
        "--key-variable",
        type=nonempty,
        metavar="VARIABLE",
        help="the environment variable with the endpoint's key; default: none",
    )


def run(options: argparse.Namespace) -> int:
    """Judge the records and print the summary; returns the exit status, 1 if nothing could be judged."""
    import json

    from components.endpoint import EndpointError
    from components.formats import UnknownFormat, Unreadable, format_named, format_of
    from components.judge import JudgeOutage
    from components.judge.judge_run import JOURNAL, RESULTS, RunOptions, judge_records
    from components.judge.judge_summary import as_text
    from components.judge.judges import UnavailableJudge
    from components.params import RecipeError

    if options.answers is not None and not options.tasks:
        return fail("--answers belong to tasks: name their file with --tasks")
    if file := next((path for path in (options.out, *options.out.parents) if path.is_file()), None):
        return fail(f"--out {options.out}: {file} is a file; name a folder")
    if problem := cannot_write(options.out):
        return fail(f"--out {problem}")
    if any((options.out / name).exists() for name in RESULTS) and not (options.out / JOURNAL).exists():
        return fail(f"--out {options.out} has verdicts that `waymark judge run` did not write: name a new folder")
    try:
        params = recipe_of(options)
        kind = format_named(options.format) if options.format else format_of(options.path)
        if not options.path.exists():
            return fail(f"{options.path}: no such file or folder")
        tasks = _tasks(options.tasks, options.answers) if options.tasks else None
        model = params.judge.model
        judge = options.judge or (model.protocol if model is not None else "rules")
        further = registered_protocols([judge], params)
        settings = RunOptions(judge, options.out, options.allow_missing, _say_progress, further)
        summary = judge_records(kind.read(options.path), settings, params, tasks)
    except (RecipeError, EndpointError, JudgeOutage, UnavailableJudge) as error:
        return fail(error)
    except (UnknownFormat, Unreadable, BlockingIOError, ValueError) as error:
        return fail(error)
    print(json.dumps(summary.model_dump(mode="json"), indent=1) if options.json else as_text(summary))
    if tasks is not None:
        _say_joined(tasks)
    return 0 if summary.judged else 1


def recipe_of(options: argparse.Namespace) -> Params:
    """The recipe, with the endpoint of the command line (`add_endpoint`).

    Raises:
        RecipeError: the recipe is wrong, one of --url and --model is missing, or nothing uses them.
    """
    from components.params import EndpointParams, ModelJudgeParams, RecipeError, find, load

    if (options.url is None) != (options.model is None):
        raise RecipeError(
            "--url and --model belong together: give both, or name the endpoint in judge.model of the recipe"
        )
    if options.key_variable is not None and options.url is None:
        raise RecipeError(
            "--key-variable is of the endpoint of --url and --model: give them too, or name the variable in "
            "judge.model.endpoint.key_variable of the recipe"
        )
    if options.url is not None and options.judge in WITHOUT_MODEL:
        raise RecipeError(f"--judge {options.judge} asks no endpoint: leave out --url and --model, or name a protocol")
    params = load(find(options.recipe) if options.recipe else PARAMS)
    model = params.judge.model
    if options.url is not None:
        endpoint = EndpointParams(url=options.url, model=options.model, key_variable=options.key_variable)
        if model is None:
            model = ModelJudgeParams(endpoint=endpoint)
        else:
            model = model.model_copy(update={"endpoint": endpoint, "voters": []})
    return params.model_copy(update={"judge": params.judge.model_copy(update={"model": model})})


def _tasks(files: list[Path], answers: Path | None) -> JoinedTasks:
    """The tasks of the files.

    Raises:
        ValueError: a file does not exist, or cannot be read.
    """
    from components.judge.joined_tasks import JoinedTasks
    from components.params import TaskFile
    from components.tasks import load_files

    loaded = load_files(TaskFile(path=str(file), answers=None if answers is None else str(answers)) for file in files)
    if loaded.missing:
        raise ValueError(f"{', '.join(loaded.missing)}: no such file; --tasks names task files")
    for rejection in loaded.rejections[:3]:
        print(f"{rejection.file}: row {rejection.row}: {rejection.reason}", file=sys.stderr)
    if loaded.rejections:
        print(f"{len(loaded.rejections)} rows of --tasks are no tasks and are left out", file=sys.stderr)
    return JoinedTasks.of(loaded.tasks)


def _say_joined(tasks: JoinedTasks) -> None:
    print(f"{tasks.joined} trajectories have a task of --tasks", file=sys.stderr)
    if tasks.revised:
        print(
            f"{len(tasks.revised)} are on another revision of a task with the same id, and keep their own words "
            f"(such as {tasks.revised[0]})",
            file=sys.stderr,
        )
    if tasks.unknown:
        print(f"{len(tasks.unknown)} have no task there (such as {tasks.unknown[0]})", file=sys.stderr)


def _say_progress(count: int) -> None:
    if count % EVERY == 0:
        print(f"{count} records", file=sys.stderr, flush=True)
