"""`waymark validate` and `params`: recipes."""

from __future__ import annotations

import argparse
from pathlib import Path

from components.cli.command import PARAMS, Subparsers, fail


def add(commands: Subparsers) -> None:
    """Register `validate` and `params`."""
    parser = commands.add_parser("validate", help="check recipes: field, value and what is allowed")
    parser.add_argument("recipes", nargs="+", type=Path, metavar="RECIPE", help="files, or names in recipes/")
    parser.set_defaults(run=validate)

    parser = commands.add_parser("params", help="the recipe in use, with every default filled in")
    parser.add_argument(
        "recipe", nargs="?", type=Path, default=PARAMS, metavar="RECIPE",
        help="a file, or a name in recipes/; default: %(default)s",
    )  # fmt: skip
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--diff", action="store_true", help="only what differs from the recipe that it extends, or else the defaults"
    )
    shown.add_argument(
        "--explain", metavar="KEY", help="what a key means, such as rl.objective.replay: type, default, value, meaning"
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


def params(options: argparse.Namespace) -> int:
    """Print a recipe with all defaults, or its difference, without passwords; returns the exit status."""
    from components.params import RecipeError, as_yaml, changed_from_base, find, load
    from components.redaction import redacted

    file = find(options.recipe)
    try:
        if options.explain is not None:
            print(redacted(_explained(options.explain, load(file).model_dump(mode="json"))))
        elif options.diff:
            lines = [
                f"{change.key}: {_shown(change.old)} -> {_shown(change.new)}" for change in changed_from_base(file)
            ]
            print(redacted("".join(f"{line}\n" for line in lines)), end="")
        else:
            print(redacted(as_yaml(load(file).model_dump(mode="json"))), end="")
    except RecipeError as error:
        return fail(error)
    return 0


def _explained(key: str, recipe: dict[str, object]) -> str:
    """A key of a recipe in words.

    Raises:
        RecipeError: there is no such key.
    """
    from components.params import value_at
    from components.params.meaning import find_key

    blocks = []
    for described in find_key(key):
        where = f"{key} (of {described.section})" if described.section else key
        lines = [f"{where}: {described.type}" + (f"; default {described.default}" if described.default else "")]
        lines += [described.meaning] if described.meaning else []
        lines += [f"  {name:28} {meaning.partition(chr(10))[0]}" for name, meaning in described.inner.items()]
        blocks.append("\n".join(lines))
    value = value_at(recipe, key)
    blocks += [] if isinstance(value, dict) else [f"In this recipe: {_shown(value)}"]
    return "\n\n".join(blocks)


def _shown(value: object) -> str:
    """A value in one line; `(none)` where the key is not there."""
    import json

    return "(none)" if value is ... else json.dumps(value, ensure_ascii=False)
