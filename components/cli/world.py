"""`waymark world`: checks of a world's tasks, new worlds of one's own sites, and recorded oracles of their tasks."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import shlex
import sys
from pathlib import Path

from components.cli import world_record, world_tasks
from components.cli.command import Subparsers, fail, nonempty, nonempty_path, positive, seed

AT_ONCE = 4
"""Tasks that are checked at once."""
RUNS = ("oracle", "idle", "copied", "guessed", "other", "stray", "listed", "control", "forged")
"""The columns of the table, one per kind of run."""


def add(commands: Subparsers) -> None:
    """Register `world` with its subcommands."""
    world = commands.add_parser("world", help="worlds: checks of tasks, and worlds of your own").add_subparsers(
        required=True, metavar="COMMAND"
    )
    parser = world.add_parser("new", help="writes a package for your own site, with an example that works at once")
    parser.add_argument("name", metavar="NAME", help="the name of the world, such as my_site")
    parser.add_argument(
        "--directory", type=nonempty_path, metavar="D", help="the folder for the package; default: ./NAME"
    )
    parser.add_argument(
        "--webarena-infinity",
        type=nonempty_path,
        metavar="APP",
        help="the folder of an application in your clone of WebArena-Infinity, which becomes the site",
    )
    parser.add_argument(
        "--suite", type=nonempty, metavar="S", help="its tasks, by the name of their JSON file: real-tasks, tasks, …"
    )
    parser.set_defaults(run=new)
    parser = world.add_parser(
        "check",
        help="plays each kind of task of a world with state: its oracle must get 1; idle and cheating agents 0",
    )
    parser.add_argument("name", metavar="WORLD", help="a name, or the dotted path of a world of your own")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="kinds of tasks; default: all")
    parser.add_argument(
        "--seeds", type=positive, default=1, metavar="N", help="tasks of each kind; default: %(default)s"
    )
    parser.add_argument(
        "--first-seed", type=seed, default=1, metavar="N", help="the seed of the first task; default: %(default)s"
    )
    world_tasks.add_keys(parser)
    parser.add_argument("--json", action="store_true", help="for programs: one line of JSON per task")
    parser.set_defaults(run=check)
    world_tasks.add(world)
    world_record.add(world)


def new(options: argparse.Namespace) -> int:
    """Write the package and print what to do next."""
    from components.worlds.own_site import OwnSiteError
    from components.worlds.own_site.scaffold import write_package
    from components.worlds.own_site.webarena_infinity import write_adapter

    folder, application = options.directory or Path(options.name), options.webarena_infinity
    if application is None and options.suite is not None:
        return fail("--suite belongs to --webarena-infinity: give both")
    try:
        if application is not None:
            files = write_adapter(options.name, folder, application, options.suite)
        else:
            files = write_package(options.name, folder)
    except (OwnSiteError, OSError) as error:
        return fail(error)
    print("\n".join(map(str, files)))
    if application is not None:
        print(
            f"\nA script of its pages could forge its state; docs/how-to/train-on-your-site.md says what that means.\n"
            f"  python -m pip install --no-deps --no-build-isolation -e {shlex.quote(str(folder))}\n"
            f"  waymark world check {options.name}"
        )
        return 0
    print(
        f"\nIt works as it is, with a to-do list as the application:\n"
        f"  python -m pip install --no-deps --no-build-isolation -e {shlex.quote(str(folder))}\n"
        f"  waymark world check {options.name}\n"
        f"Now describe your own application in {folder}/waymark_{options.name}/site.yaml; "
        "docs/how-to/train-on-your-site.md explains it"
    )
    return 0


def check(options: argparse.Namespace) -> int:
    """Print a line per task as it is checked; the exit status is 1 if any has a problem."""
    from components.browser import ChromiumNotFoundError, EnvError
    from components.params import BrowserParams
    from components.plugins import UnknownKindError
    from components.worlds import WorldError, world_class

    async def play() -> tuple[int, int, int]:
        kind = world_class(options.name)
        if kind.forgeable:
            print(f"{kind.name} can be forged: {kind.forgeable}", file=sys.stderr)
        tasks = kind(world_tasks.section(kind, options.keys)).check(
            options.families, BrowserParams(concurrency=AT_ONCE), options.first_seed, options.seeds
        )
        total = wrong = noted = 0
        if not options.json:
            print(f"{'task':48} {'actions':>7} {' '.join(f'{run:>7}' for run in RUNS)}  repeats  seconds", flush=True)
        async for task in tasks:
            total, wrong, noted = total + 1, wrong + bool(task.problems), noted + bool(task.notes)
            if options.json:
                print(json.dumps(dataclasses.asdict(task)), flush=True)
                continue
            rewards = " ".join(f"{task.rewards[run]:7g}" if run in task.rewards else f"{'-':>7}" for run in RUNS)
            repeats = "yes" if task.is_repeatable else "no"
            print(f"{task.task_id:48} {task.actions:7} {rewards}  {repeats:7} {task.seconds:8.1f}", flush=True)
            for problem in task.problems:
                print(f"    {problem}", flush=True)
            for note in task.notes:
                print(f"    note: {note}", flush=True)
        return total, wrong, noted

    try:
        total, wrong, noted = asyncio.run(play())
    except (UnknownKindError, WorldError, EnvError, ChromiumNotFoundError) as error:
        return fail(error)
    if not options.json:
        print(f"{total} tasks, {wrong} with a problem" + (f", {noted} with a note" if noted else ""))
    return int(wrong > 0)
