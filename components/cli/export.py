"""`waymark export`: stored trajectories as a dataset of Parquet files with a card, or in a format such as ATIF."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from components.cli.command import PARAMS, STAGE_FOLDERS, Subparsers, cannot_write, fail

if TYPE_CHECKING:
    from components.export import Source
    from components.export.columns import Episode
    from components.params import Params

DATASET = "dataset"
LICENCE = r"[a-z0-9][a-z0-9.+-]*"
"""How the Hub names licences."""
SHOWN = 3
"""Trajectories that a message about left-out ones names."""


def add(commands: Subparsers) -> None:
    """Register `export`."""
    parser = commands.add_parser(
        "export",
        help="trajectories as a dataset, Parquet with screenshots and a card that Hugging Face reads, or as ATIF, or "
        "as logs of inspect_ai",
    )
    parser.add_argument("out", type=Path, metavar="FOLDER", help="the folder to write, which must be new or empty")
    parser.add_argument(
        "--format",
        default=DATASET,
        metavar="NAME",
        help="dataset, atif for a file per trajectory, agent_reward_bench, online_mind2web or webvoyager for results "
        "that the benchmark's judge reads, or inspect for logs of inspect_ai; default: dataset",
    )
    parser.add_argument(
        "--licence",
        metavar="ID",
        help="the licence of a dataset, by the Hub's names, such as apache-2.0 or other; a dataset needs one, "
        "and other formats have no place for it",
    )
    parser.add_argument(
        "--table",
        type=Path,
        action="append",
        metavar="PATH",
        help="a trajectories.parquet; repeatable; default: every stage's",
    )
    parser.add_argument("--only", choices=["success", "failure"], help="only episodes that the evaluation counts so")
    parser.add_argument(
        "--title", metavar="TEXT", help="the title of a dataset's card; default: Trajectories of RECIPE"
    )
    parser.add_argument(
        "--secret",
        action="append",
        default=[],
        metavar="VARIABLE",
        help="an environment variable whose value is removed from all texts, beside those of the recipe; repeatable",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the folder and print what it has; returns the exit status."""
    import os

    from components.export import ExportError, Source
    from components.formats import UnknownFormat
    from components.params import RecipeError, load
    from components.redaction import Redaction, secret_variables, secrets_of

    tables = options.table or [folder / "trajectories.parquet" for folder in STAGE_FOLDERS]
    missing = [str(table) for table in tables if not table.is_file()]
    if options.table and missing:
        return fail(f"{', '.join(missing)}: no such file")
    if len(missing) == len(tables):
        return fail("no trajectories in data/; run `make demo`, or name a table with --table")
    if unset := [name for name in options.secret if not os.environ.get(name)]:
        return fail(f"--secret {', '.join(unset)}: the variable is not set, so its value cannot be removed")
    if len({table.resolve() for table in tables}) < len(tables):
        return fail(f"--table {', '.join(map(str, tables))}: a table is named twice; name each once")
    if options.format == DATASET and options.licence is None:
        return fail("a dataset needs --licence, by the Hub's names, such as apache-2.0 or other")
    unused = [f"--{name}" for name in ("licence", "title") if vars(options)[name] is not None]
    if options.format != DATASET and unused:
        return fail(
            f"{' and '.join(unused)}: --format {options.format} has no place for it, which only a dataset "
            "has: leave it out, and state it beside the files that you publish"
        )
    if options.licence is not None and not re.fullmatch(LICENCE, options.licence):
        return fail(f"--licence {options.licence!r} is no name of the Hub: give one such as apache-2.0, or other")
    if problem := cannot_write(options.out):
        return fail(problem)
    write = _write_dataset if options.format == DATASET else _write_files
    try:
        recipe = load(PARAMS)
        variables = [*secret_variables(recipe.model_dump(mode="json")), *options.secret]
        write(
            options,
            recipe,
            Source.of([table for table in tables if table.is_file()]),
            Redaction(secrets_of(variables)),
            lambda episode: options.only is None or episode.success is (options.only == "success"),
        )
    except (ExportError, RecipeError, UnknownFormat, ValueError) as error:
        return fail(error)
    return 0


def _write_dataset(
    options: argparse.Namespace,
    recipe: Params,
    sources: list[Source],
    clean: Callable[[str], str],
    keep: Callable[[Episode], bool],
) -> None:
    from components.export import Origin, export, recorded_seed

    title = options.title or f"Trajectories of {recipe.name}"
    seeds = {source.name: seed for source in sources if (seed := recorded_seed(source.table)) is not None}
    origin = Origin(title, options.licence, recipe.name, _version(), seeds)
    counts = export(sources, options.out, origin, clean, keep)
    for split, number in sorted(counts.episodes.items()):
        print(f"{split}: {number} episodes, {counts.turns[split]} turns")
    print(f"{options.out}/README.md is the card; read it before you publish the folder")


def _write_files(
    options: argparse.Namespace,
    recipe: Params,
    sources: list[Source],
    clean: Callable[[str], str],
    keep: Callable[[Episode], bool],
) -> None:
    from components.export import export_as
    from components.formats import format_named

    written = export_as(format_named(options.format), sources, options.out, clean, keep)
    print(f"{written.trajectories} trajectories in {options.out}")
    for sentence in written.left_out[:SHOWN]:
        print(f"left out: {sentence}", file=sys.stderr)
    if len(written.left_out) > SHOWN:
        print(f"left out: {len(written.left_out) - SHOWN} more", file=sys.stderr)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("waymark")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "(not installed)"
