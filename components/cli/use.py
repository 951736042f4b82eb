"""`waymark use`: puts a recipe in use, and never loses a params.yaml that was changed by hand."""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from components.cli.command import PARAMS, Subparsers, fail

if TYPE_CHECKING:
    from components.params import Params

NAMED = 3
"""Changed keys that a message names."""
COPY = f"{PARAMS}.bak"


def add(commands: Subparsers) -> None:
    """Register `use`."""
    parser = commands.add_parser("use", help="validate a recipe and write it, complete, to params.yaml")
    parser.add_argument("recipe", type=Path, metavar="RECIPE", help="a file, or a name in recipes/")
    parser.add_argument(
        "--force", action="store_true", help=f"replace a params.yaml that was changed by hand, and keep it as {COPY}"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Validate a recipe and write all of its keys to params.yaml; returns the exit status."""
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
    if PARAMS.exists() and file.samefile(PARAMS):
        _complete(text)
    else:
        try:
            _keep_changes(file, recipe, options.force)
        except _ChangedByHand as error:
            return fail(error)
        _write(text)
    print(f"params.yaml is now {recipe.name}; `dvc repro` or `make demo` runs what it changes")
    return 0


def _write(text: str) -> None:
    from components import store

    partial = PARAMS.with_name(".params.yaml.part")
    partial.write_text(text)
    store.publish(partial, PARAMS)


def _complete(text: str) -> None:
    """Add the keys that params.yaml lacks, because it is of an earlier version or because they were removed by hand:
    DVC reads no defaults."""
    import yaml

    if yaml.safe_load(text) != yaml.safe_load(PARAMS.read_text(encoding="utf-8")):
        shutil.copyfile(PARAMS, COPY)
        _write(text)


class _ChangedByHand(Exception):
    """params.yaml has changes that no recipe has."""


def _keep_changes(file: Path, recipe: Params, force: bool) -> None:
    """Copy a params.yaml that may have changes made by hand, before another recipe replaces it.

    Raises:
        _ChangedByHand: it has such changes, which the new recipe does not have; not with `force`.
    """
    from components.params import State, read_written

    if not PARAMS.exists():
        return
    state, source = read_written(PARAMS)
    present = _loaded(PARAMS)
    if state is State.AS_WRITTEN or _differing(present, recipe) in ([], ["name"]):
        return
    base = _base(source, file)
    differing = _differing(present, _loaded(base) if base else None)
    if state is State.UNKNOWN and differing == []:
        return
    if state is State.CHANGED and not force:
        extends = f"`extends: {base.stem}`" if base else "`extends`"
        raise _ChangedByHand(
            f"{PARAMS} was changed by hand{_summary(base, differing)}: put the changes into a recipe of your own with "
            f"{extends} and use that, or give --force, which keeps the file as {COPY}"
        )
    why = "was" if state is State.CHANGED else "may have been"
    print(f"{PARAMS} {why} changed by hand{_summary(base, differing)}: it is kept as {_copy()}", file=sys.stderr)


def _loaded(path: Path) -> Params | None:
    """A recipe; None if it is not valid, or not any more."""
    from components.params import RecipeError, load

    try:
        return load(path)
    except RecipeError:
        return None


def _differing(present: Params | None, other: Params | None) -> list[str] | None:
    """The keys in which two recipes differ; None if that is not known."""
    from components.params.inheritance import changes

    if present is None or other is None:
        return None
    return [change.key for change in changes(other.model_dump(mode="json"), present.model_dump(mode="json"))]


def _base(source: str | None, file: Path) -> Path | None:
    """The recipe from which params.yaml was written; one outside of recipes/ is known by the name of its file alone."""
    if source is None:
        return None
    return next((path for path in (Path(source), file) if path.name == Path(source).name and path.is_file()), None)


def _summary(base: Path | None, keys: list[str] | None) -> str:
    """The first changed keys in brackets; empty if they are not known, or if only comments or the layout changed."""
    if not keys:
        return ""
    more = f" and {len(keys) - NAMED} more" if len(keys) > NAMED else ""
    return f" (it differs from {base} in {', '.join(keys[:NAMED])}{more})"


def _copy() -> Path:
    """Copy params.yaml to a file that no earlier copy has, and return it; a copy with the same bytes will do."""
    from components import store

    former = PARAMS.read_bytes()
    names = (Path(f"{COPY}{number or ''}") for number in itertools.count())
    copy = next(path for path in names if not path.exists() or (path.is_file() and path.read_bytes() == former))
    if not copy.exists():
        partial = Path(f".{copy}.part")
        partial.write_bytes(former)
        store.publish(partial, copy)
    return copy
