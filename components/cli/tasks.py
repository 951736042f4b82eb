"""`waymark tasks …`: differences between task sets, checksums of public sets, and the construction of task files.

diff        what changed between two versions of a set
sets        where public sets come from, and whether each file matches its checksum
propose     rubrics for tasks that have none
decompose   the smaller tasks that rubrics contain
split       a test set of websites that are never trained on
build       propose, decompose and split
paraphrase  the same tasks in other words
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from components.cli.command import PARAMS, Subparsers, cannot_write, fail, positive

STEPS = {
    "propose": "rubrics (groups of facts that an answer needs) for tasks without any, by the recipe's model; writes "
    "tasks.jsonl",
    "decompose": "the smaller tasks that rubrics contain, worded by the recipe's model; writes tasks.jsonl",
    "split": "one test task from each of some websites, which leave training; writes train.jsonl and test.jsonl",
    "build": "propose, decompose and split, one after the other",
    "paraphrase": "each task, and the same in other words with its facts, by the recipe's model; writes tasks.jsonl",
}


def add(commands: Subparsers) -> None:
    """Register `tasks` with its subcommands."""
    tasks = commands.add_parser(
        "tasks",
        help="task sets: sources, checksums, differences; by a model rubrics, smaller tasks, other words, a test set",
    ).add_subparsers(required=True, metavar="COMMAND")

    parser = tasks.add_parser("diff", help="what changed between two versions of a set, by task and field")
    parser.add_argument("before", type=Path, metavar="A", help="the task file of the earlier version")
    parser.add_argument("after", type=Path, metavar="B", help="the task file of the later version")
    parser.add_argument("--json", action="store_true", help="for programs, with whole values")
    parser.set_defaults(run=diff)

    parser = tasks.add_parser("sets", help="public sets: the source of each, and whether its file matches its checksum")
    parser.set_defaults(run=sets)

    for step, description in STEPS.items():
        parser = tasks.add_parser(step, help=description)
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="task files, in any supported schema")
        parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="the folder of the new files")
        parser.add_argument(
            "--split", choices=["train", "eval"], help="the purpose of the tasks; default: what their schema says"
        )
        parser.add_argument(
            "--recipe", type=Path, default=PARAMS, metavar="RECIPE",
            help="whose `construction` and seed are used: a file, or a name in recipes/; default: %(default)s",
        )  # fmt: skip
        parser.set_defaults(run=build, step=step, test_websites=None)
        if step == "split":
            parser.add_argument(
                "--test-websites", type=positive, metavar="N",
                help="the number of websites of the test set; default: construction.test_websites of the recipe",
            )  # fmt: skip


def diff(options: argparse.Namespace) -> int:
    """Print what changed; the exit status is 0 with and without changes."""
    from components.tasks.diff import diff_files, lines

    try:
        difference, rejected = diff_files(options.before, options.after)
    except ValueError as error:
        return fail(error)
    if rejected:
        print(f"{rejected} rows are no tasks and are not compared", file=sys.stderr)
    print(difference.model_dump_json(indent=1) if options.json else "\n".join(lines(difference)))
    return 0


def sets(_options: argparse.Namespace) -> int:
    """Print the state of each public set; the exit status is 1 if a checksum does not match, or there is no set."""
    from components.tasks.checksums import FOLDER, imported_files

    try:
        states = [(pinned, pinned.state()) for pinned in imported_files()]
    except ValueError as error:
        return fail(error)
    if not states:
        return fail(f"{FOLDER}/ has no public set: go to the folder of your checkout of Waymark first")
    for pinned, state in states:
        print(f"{state:8} {pinned.file}  md5 {pinned.md5}  {pinned.url}")
    if any(state == "missing" for _, state in states):
        print(f"`dvc update {FOLDER}/NAME.dvc` downloads a missing file")
    return int(any(state == "changed" for _, state in states))


def build(options: argparse.Namespace) -> int:
    """Run one step of construction and print a line per file; returns the exit status."""
    import asyncio

    from components.endpoint import EndpointError
    from components.params import RecipeError, find, load
    from components.tasks import TooManyRejected
    from components.tasks.build import build_tasks, task_counts

    if problem := cannot_write(options.out / "built.json"):
        return fail(f"--out {problem}")
    try:
        recipe = load(find(options.recipe))
        construction, test_websites = recipe.construction, options.test_websites
        if construction is None and (options.step != "split" or test_websites is None):
            fix = (
                "give the number of test websites with --test-websites N"
                if options.step == "split"
                else "name the model that proposes rubrics, such as {endpoint: {url: https://…/v1, model: …}}"
            )
            return fail(f"{options.recipe}: construction = None: {fix}")
        if construction is not None and test_websites is None:
            test_websites = construction.test_websites
        built = asyncio.run(
            build_tasks(options.step, options.files, options.out, recipe, test_websites, options.split, _progress)
        )
    except (RecipeError, EndpointError, TooManyRejected, ValueError) as error:
        return fail(error)
    for file, members in built.files.items():
        counts = task_counts(members)
        levels = ", ".join(f"{counts[level]} {level}" for level in ("easy", "medium", "hard"))
        print(
            f"{file}: {counts['tasks']} tasks, {counts['decomposed']} of them decomposed, "
            f"on {counts['websites']} websites; {levels}"
        )
    if built.rejected:
        print(f"{built.rejected} rows are rejected, {built.rejections_file} says why")
    if built.usd is not None:
        print(f"{built.usd:.4f} USD")
    return 0


@contextlib.contextmanager
def _progress(title: str) -> Iterator[Callable[[int, int], None]]:
    from rich.progress import Progress

    with Progress(transient=True) as bar:
        row = bar.add_task(title)
        yield lambda answered, total: bar.update(row, completed=answered, total=total)
