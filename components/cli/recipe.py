"""`waymark validate`, `use` and `params`: recipes."""

from __future__ import annotations

import argparse
from pathlib import Path

from components.cli.command import PARAMS, Subparsers, fail


def add(commands: Subparsers) -> None:
    """Register `validate`, `use` and `params`."""
    parser = commands.add_parser("validate", help="check recipes: field, value and what is allowed")
    parser.add_argument("recipes", nargs="+", type=Path, metavar="RECIPE", help="files, or names in recipes/")
    parser.set_defaults(run=validate)

    parser = commands.add_parser("use", help="validate a recipe and write it, complete, to params.yaml")
    parser.add_argument("recipe", type=Path, metavar="RECIPE", help="a file, or a name in recipes/")
    parser.set_defaults(run=use)

    parser = commands.add_parser("params", help="the recipe in use, with every default filled in")
    parser.add_argument(
        "recipe", nargs="?", type=Path, default=PARAMS, metavar="RECIPE",
        help="a file, or a name in recipes/; default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--diff", action="store_true", help="only what differs from the recipe that it extends, or else the defaults"
    )
    parser.set_defaults(run=params)


def validate(options: argparse.Namespace) -> int:
    """Check each recipe and print what is wrong with it; returns the exit status."""
    from components.params import RecipeError, find, load
    from components.worlds import worlds_of

    status = 0
    for file in map(find, options.recipes):
        try:
            recipe = load(file)
            worlds_of(recipe).require_possible(recipe)
            print(f"{file}: ok")
        except RecipeError as error:
            status = fail(error)
    return status


def use(options: argparse.Namespace) -> int:
    """Validate a recipe and write all of its keys to params.yaml; returns the exit status."""
    from components import store
    from components.params import RecipeError, complete, find, load
    from components.worlds import worlds_of

    file = find(options.recipe)
    try:
        recipe, text = load(file), complete(file)
        worlds_of(recipe).require_possible(recipe)
    except RecipeError as error:
        return fail(error)
    if PARAMS.is_dir():
        return fail(f"{PARAMS} is a folder, which no recipe replaces: move it away, and use the recipe again")
    if file.resolve() != PARAMS.resolve():
        partial = PARAMS.with_name(".params.yaml.part")
        partial.write_text(text)
        store.publish(partial, PARAMS)
    print(f"params.yaml is now {recipe.name}; `dvc repro` or `make demo` runs what it changes")
    return 0


def params(options: argparse.Namespace) -> int:
    """Print a recipe with all defaults, or its difference, without passwords; returns the exit status."""
    from components.params import RecipeError, as_yaml, changed_from_base, find, load
    from components.redaction import redacted

    file = find(options.recipe)
    try:
        if options.diff:
            lines = [
                f"{change.key}: {_shown(change.old)} -> {_shown(change.new)}" for change in changed_from_base(file)
            ]
            print(redacted("".join(f"{line}\n" for line in lines)), end="")
        else:
            print(redacted(as_yaml(load(file).model_dump(mode="json"))), end="")
    except RecipeError as error:
        return fail(error)
    return 0


def _shown(value: object) -> str:
    """A value in one line; `(none)` where the key is not there."""
    import json

    return "(none)" if value is ... else json.dumps(value, ensure_ascii=False)
