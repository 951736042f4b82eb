"""`waymark use`: puts a recipe in use, and never loses a params.yaml that was changed by hand."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from components.cli.command import PARAMS, Subparsers, fail


def add(commands: Subparsers) -> None:
    """Register `use`."""
    parser = commands.add_parser("use", help="validate a recipe and write it, complete, to params.yaml")
    parser.add_argument("recipe", type=Path, metavar="RECIPE", help="a file, or a name in recipes/")
    parser.add_argument(
        "--force",
        action="store_true",
        help=f"replace a params.yaml that was changed by hand, and keep it as {PARAMS}.bak",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Validate a recipe and write all of its keys to params.yaml; returns the exit status."""
    from components.params import RecipeError, find, load
    from components.params.in_use import ChangedByHand, put_in_use
    from components.worlds import worlds_of

    file = find(options.recipe)
    try:
        recipe = load(file)
        worlds_of(recipe).require_possible(recipe)
        kept = put_in_use(file, recipe, options.force)
    except (RecipeError, ChangedByHand, IsADirectoryError) as error:
        return fail(error)
    if kept is not None:
        print(kept, file=sys.stderr)
    print(f"params.yaml is now {recipe.name}; `dvc repro` or `make demo` runs what it changes")
    return 0
