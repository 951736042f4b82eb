"""`waymark export`: stored trajectories as a dataset of Parquet files with a card."""

from __future__ import annotations

import argparse
from pathlib import Path

from components.cli.command import PARAMS, STAGE_FOLDERS, Subparsers, fail


def add(commands: Subparsers) -> None:
    """Register `export`."""
    parser = commands.add_parser(
        "export", help="trajectories as a dataset: Parquet with screenshots, and a card that Hugging Face reads"
    )
    parser.add_argument("out", type=Path, metavar="FOLDER", help="the new folder")
    parser.add_argument(
        "--licence", required=True, metavar="ID", help="of the dataset, by the Hub's names, such as apache-2.0 or other"
    )
    parser.add_argument(
        "--table",
        type=Path,
        action="append",
        metavar="PATH",
        help="a trajectories.parquet; repeatable; default: every stage's",
    )
    parser.add_argument("--only", choices=["success", "failure"], help="only episodes with this verdict")
    parser.add_argument("--title", help="of the card; default: Trajectories of the recipe")
    parser.add_argument(
        "--secret",
        action="append",
        default=[],
        metavar="VARIABLE",
        help="an environment variable whose value is removed from all texts, beside those of the recipe; repeatable",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the dataset and print what it has; returns the exit status."""
    import os

    from components.export import ExportError, Origin, Source, export
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
    try:
        recipe = load(PARAMS)
        variables = [*secret_variables(recipe.model_dump(mode="json")), *options.secret]
        counts = export(
            [Source(table) for table in tables if table.is_file()],
            options.out,
            Origin(
                options.title or f"Trajectories of {recipe.name}", options.licence, recipe.name, recipe.seed, _version()
            ),
            Redaction(secrets_of(variables)),
            lambda episode: options.only is None or episode.success is (options.only == "success"),
        )
    except (ExportError, RecipeError, ValueError) as error:
        return fail(error)
    for split, number in sorted(counts.episodes.items()):
        print(f"{split}: {number} episodes, {counts.turns[split]} turns")
    print(f"{options.out}/README.md is the card; read it before you publish the folder")
    return 0


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("waymark")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "(not installed)"
