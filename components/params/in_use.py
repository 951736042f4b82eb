"""The recipe in use, `params.yaml`, which other recipes replace. Changes that were made by hand are never lost."""

from __future__ import annotations

import itertools
from pathlib import Path

import yaml

from components import store
from components.params.file_header import State, read_written, with_header_of
from components.params.inheritance import changes
from components.params.loading import DEFAULT_PATH, complete, load
from components.params.recipe import Params
from components.params.recipe_file import RecipeError, as_yaml

NAMED = 3
"""Changed keys that a message names."""
COPY = f"{DEFAULT_PATH}.bak"
"""The file that keeps a replaced `params.yaml`; further ones have a number behind it."""


class ChangedByHand(Exception):
    """`params.yaml` has changes that no recipe has."""


def put_in_use(file: Path, recipe: Params, force: bool = False) -> str | None:
    """Write all keys of a recipe to `params.yaml`. If `file` is `params.yaml` itself, it gets the keys that it lacks.

    Args:
        file: the recipe's file, which was loaded as `recipe`.
        force: replace a `params.yaml` that was changed by hand. It is copied first.

    Returns:
        a sentence about the copy of a `params.yaml` that may have had changes made by hand; None without one.

    Raises:
        ChangedByHand: it has such changes, which the new recipe does not have; not with `force`.
        IsADirectoryError: `params.yaml` is a folder.
    """
    if DEFAULT_PATH.is_dir():
        raise IsADirectoryError(
            f"{DEFAULT_PATH} is a folder, which no recipe replaces: move it away, and use the recipe again"
        )
    if DEFAULT_PATH.exists() and file.samefile(DEFAULT_PATH):
        return _complete(recipe)
    text = complete(file)
    kept = _keep_changes(file, recipe, force)
    _write(text)
    return kept


def _write(text: str) -> None:
    partial = DEFAULT_PATH.with_name(".params.yaml.part")
    partial.write_text(text)
    store.publish(partial, DEFAULT_PATH)


def _complete(recipe: Params) -> str | None:
    """Add the keys that params.yaml lacks, because it is of an earlier version or because they were removed by hand:
    DVC reads no defaults. A file that may have changes made by hand is copied first."""
    values = recipe.model_dump(mode="json")
    if yaml.safe_load(DEFAULT_PATH.read_text(encoding="utf-8")) == values:
        return None
    is_as_written = read_written(DEFAULT_PATH).state is State.AS_WRITTEN
    difference = "lacked keys, or wrote values in another way"
    kept = None if is_as_written else f"{DEFAULT_PATH} {difference}: the former file is kept as {_copy()}"
    _write(with_header_of(DEFAULT_PATH, as_yaml(values)))
    return kept


def _keep_changes(file: Path, recipe: Params, force: bool) -> str | None:
    """Copy a params.yaml that may have changes made by hand, before another recipe replaces it, and say so.

    Raises:
        ChangedByHand: it has such changes, which the new recipe does not have; not with `force`.
    """
    if not DEFAULT_PATH.exists():
        return None
    state, source = read_written(DEFAULT_PATH)
    present = _loaded(DEFAULT_PATH)
    if state is State.AS_WRITTEN or _differing(present, recipe) in ([], ["name"]):
        return None
    base = _base(source, file)
    differing = _differing(present, _loaded(base) if base else None)
    if state is State.UNKNOWN and differing == []:
        return None
    if state is State.CHANGED and not force:
        extends = f"`extends: {base.stem}`" if base else "`extends`"
        raise ChangedByHand(
            f"{DEFAULT_PATH} was changed by hand{_summary(base, differing)}: put the changes into a recipe of your own "
            f"with {extends} and use that, or give --force, which keeps the file as {COPY}"
        )
    verb = "was" if state is State.CHANGED else "may have been"
    return f"{DEFAULT_PATH} {verb} changed by hand{_summary(base, differing)}: it is kept as {_copy()}"


def _loaded(path: Path) -> Params | None:
    """A recipe; None if it is not valid, or not any more."""
    try:
        return load(path)
    except RecipeError:
        return None


def _differing(present: Params | None, other: Params | None) -> list[str] | None:
    """The keys in which two recipes differ; None if that is not known."""
    if present is None or other is None:
        return None
    return [change.key for change in changes(other.model_dump(mode="json"), present.model_dump(mode="json"))]


def _base(source: str | None, file: Path) -> Path | None:
    """The recipe from which params.yaml was written; one outside of the working folder is known by the name of its file
    alone."""
    if source is None:
        return None
    if Path(source).is_file():
        return Path(source)
    return file if file.name == source else None


def _summary(base: Path | None, keys: list[str] | None) -> str:
    """The first changed keys in brackets; empty if they are not known, or if only comments or the layout changed."""
    if not keys:
        return ""
    more = f" and {len(keys) - NAMED} more" if len(keys) > NAMED else ""
    return f" (it differs from {base} in {', '.join(keys[:NAMED])}{more})"


def _copy() -> Path:
    """Copy params.yaml to a file that no earlier copy has, and return it; a copy with the same bytes will do."""
    former = DEFAULT_PATH.read_bytes()
    names = (Path(f"{COPY}{number or ''}") for number in itertools.count())
    copy = next(path for path in names if not path.exists() or (path.is_file() and path.read_bytes() == former))
    if not copy.exists():
        partial = Path(f".{copy}.part")
        partial.write_bytes(former)
        store.publish(partial, copy)
    return copy
