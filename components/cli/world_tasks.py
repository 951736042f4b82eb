"""`waymark world tasks`: the tasks that a world's section of a recipe makes, as a task file."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from components.cli.command import Subparsers, fail, nonempty_path, positive, seed

if TYPE_CHECKING:
    from components.params import Section
    from components.worlds.world import World


def add(commands: Subparsers) -> None:
    """Register `tasks` under `world`."""
    parser = commands.add_parser(
        "tasks",
        help="writes the tasks that a world makes to a file, which tasks.files, `judge attack` and others read",
        epilog="Which tasks a world makes is said by the keys of its section; without --keys many make none.",
    )
    parser.add_argument("name", metavar="WORLD", help="a name, or the dotted path of a world of your own")
    parser.add_argument("file", type=nonempty_path, metavar="FILE", help="the task file to write, in JSONL")
    add_keys(parser)
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="that of the recipe; default: %(default)s")
    parser.add_argument(
        "--viewport",
        type=positive,
        nargs=2,
        default=(1280, 720),
        metavar=("WIDTH", "HEIGHT"),
        help="size in pixels in which pages are opened; default: 1280 720",
    )
    parser.set_defaults(run=tasks)


def add_keys(parser: argparse.ArgumentParser) -> None:
    """Add the option `--keys`."""
    parser.add_argument(
        "--keys",
        default="{}",
        metavar="YAML",
        help="keys of the world's section in a recipe, such as '{modifiers: [popup]}'",
    )


def tasks(options: argparse.Namespace) -> int:
    """Write the file and print how many tasks of each split it has."""
    from components.browser import ChromiumNotFoundError, EnvError
    from components.plugins import UnknownKindError
    from components.tasks import parse_rows, write_tasks
    from components.worlds import WorldError, world_class

    file: Path = options.file
    if file.suffix != ".jsonl":
        return fail(f"{file}: the file is in JSONL; give it a name that ends in .jsonl")
    try:
        kind = world_class(options.name)
        world = kind(section(kind, options.keys))
        rows = asyncio.run(world.tasks(options.seed, tuple(options.viewport)))
    except (UnknownKindError, WorldError, EnvError, ChromiumNotFoundError) as error:
        return fail(error)
    made, rejections = parse_rows(rows, kind.name, kind.name)
    for rejection in rejections:
        print(f"row {rejection.row} is no task: {rejection.field} {rejection.reason}", file=sys.stderr)
    if not made:
        return fail(f"{kind.name} makes no task: say with --keys which, as the section worlds.{kind.name} of a recipe")
    try:
        write_tasks(file, made)
    except OSError as error:
        return fail(error)
    splits = Counter(task.split for task in made)
    print(f"{file}: {len(made)} tasks ({', '.join(f'{count} {split}' for split, count in splits.items())})")
    return int(bool(rejections))


def section(kind: type[World], text: str) -> Section:
    """The world's section of a recipe from the YAML of `--keys`.

    Raises:
        WorldError: it is not YAML, or a key is wrong.
    """
    import yaml
    from pydantic import ValidationError

    from components.params.recipe_file import RecipeLoader, explain, syntax_problem
    from components.worlds import WorldError

    try:
        return kind.Params.model_validate(yaml.load(text, RecipeLoader))
    except yaml.YAMLError as error:
        raise WorldError(f"--keys {text}: not YAML: {syntax_problem(error)}") from error
    except ValidationError as error:
        raise WorldError("\n".join(explain(kind.Params, "--keys", detail) for detail in error.errors())) from error
