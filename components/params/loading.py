"""Reads and validates a recipe with its bases, and gives its complete text and its difference from its base."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, to_jsonable_python

from components.params.choice import sections_in
from components.params.dependence import ignored
from components.params.file_header import with_header
from components.params.inheritance import Change, Layer, changes, read_chain, resolve, useless_nulls
from components.params.old_keys import moved
from components.params.recipe import Params
from components.params.recipe_file import RecipeError, as_yaml, explain, place
from components.params.section import Section
from components.redaction import redacted

DEFAULT_PATH = Path("params.yaml")
RECIPES = Path("recipes")
Keys: TypeAlias = tuple[str | int, ...]
"""The way to a value in a recipe."""
NUMBER = "must be a number, and YAML reads yes, no, on, off, true and false as truth values"
S = TypeVar("S", bound=Section)


def load(path: Path | str = DEFAULT_PATH) -> Params:
    """Reads a recipe with its bases, and validates it.

    Raises:
        RecipeError: a file is missing or is not a YAML mapping, a base is unknown, or a field is wrong.
    """
    path = Path(path)
    chain = read_chain(path, RECIPES)
    if path.name == DEFAULT_PATH.name and len(chain) > 1:
        raise RecipeError(
            f"{path}: extends = {chain[1].path.stem!r}: {path.name} has to be complete, or DVC does not see the keys; "
            "put this into a recipe of your own and `waymark use` that"
        )
    return from_chain(chain, Params)


def from_chain(chain: Sequence[Layer], model: type[S]) -> S:
    """Validates a chain of files as `model`. An error names the file with the wrong value; for a missing key, the file
    with the section that lacks it.

    Raises:
        RecipeError: a field is wrong.
    """

    def blamed(keys: Keys) -> str:
        held = [layer.path for layer in chain if _holds(layer.keys, keys)]
        return str(held[0] if held else chain[0].path)

    if useless := useless_nulls(chain):
        raise RecipeError("\n".join(useless))
    return _validated(resolve([*chain], model), model, blamed)


def parse(raw: dict[str, Any], where: str = "params") -> Params:
    """Validates a recipe without a base that was already read. `where` names it in errors.

    Raises:
        RecipeError: a field is wrong.
    """
    if outdated := moved(raw):
        raise RecipeError("\n".join(f"{where}: {line}" for line in outdated))
    return _validated(raw, Params, lambda keys: where)


def find(recipe: Path | str) -> Path:
    """The file of a recipe. The argument is a path or a name in `recipes/`."""
    named = RECIPES / f"{recipe}.yaml"
    return named if named.exists() and not Path(recipe).exists() else Path(recipe)


def complete(path: Path | str) -> str:
    """A recipe as the text of `params.yaml`: all keys with their defaults, and a comment that names its sources.

    Raises:
        RecipeError: as `load`.
    """
    params, files = load(path), [layer.path for layer in read_chain(Path(path), RECIPES)]
    origin = ", which extends ".join(map(_name_here, files))
    return with_header(origin, as_yaml(params.model_dump(mode="json")))


def _name_here(file: Path) -> str:
    """A recipe's path from the working folder; its name alone if it is outside, as params.yaml is for any machine."""
    path = Path(os.path.relpath(file))
    return path.name if ".." in path.parts else path.as_posix()


def changed_from_base(path: Path | str) -> list[Change]:
    """The keys in which a recipe differs from its base, or without a base from the defaults.

    Raises:
        RecipeError: as `load`.
    """
    path = Path(path)
    whole = load(path).model_dump(mode="json")
    chain = read_chain(path, RECIPES)
    if len(chain) == 1:
        return changes(_defaults(Params), whole)
    return changes(from_chain(chain[1:], Params).model_dump(mode="json"), whole)


def _defaults(section: type[Section]) -> dict[str, Any]:
    """The optional keys of a recipe with their default values."""
    values: dict[str, Any] = {}
    for name, field in section.model_fields.items():
        if not field.is_required():
            value = field.get_default(call_default_factory=True)
            values[name] = to_jsonable_python(value)
        elif sections := sections_in(field):
            values[name] = _defaults(sections[0])
    return values


def _validated(raw: dict[str, Any], model: type[S], blamed: Callable[[Keys], str]) -> S:
    try:
        section = model.model_validate(raw)
    except ValidationError as error:
        lines = [explain(model, blamed(_wrong_keys(model, detail)), detail) for detail in error.errors()]
        raise RecipeError(redacted("\n".join(lines))) from error
    if booleans := [
        f"{blamed(keys)}: {'.'.join(map(str, keys))} = {value}: {NUMBER}" for keys, value in _booleans(raw, section)
    ]:
        raise RecipeError("\n".join(booleans))
    if without_effect := [f"{blamed(keys)}: {reason}" for keys, reason in ignored(section)]:
        raise RecipeError(redacted("\n".join(without_effect)))
    return section


def _wrong_keys(model: type[Section], detail: ErrorDetails) -> Keys:
    """The keys of the value with this error. A missing key has none: its section is wrong."""
    keys = place(model, detail["loc"]).keys
    return keys[:-1] if detail["type"] == "missing" else keys


def _booleans(raw: object, value: object, keys: Keys = ()) -> Iterator[tuple[Keys, bool]]:
    """The keys with a truth value that validation took for a number, such as `seed: yes`, which is 1 then."""
    if isinstance(raw, bool):
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield keys, raw
    elif isinstance(raw, Mapping):
        inside = dict(value) if isinstance(value, Section | Mapping) else {}
        for key, part in raw.items():
            yield from _booleans(part, inside.get(key), (*keys, key))
    elif isinstance(raw, list) and isinstance(value, list | tuple):
        for index, (part, inner) in enumerate(zip(raw, value, strict=False)):
            yield from _booleans(part, inner, (*keys, index))


def _holds(keys: Any, path: Keys) -> bool:
    """Whether a file itself has a value at these keys."""
    for key in path:
        if isinstance(keys, Mapping):
            has_key = key in keys
        else:
            has_key = isinstance(keys, list) and isinstance(key, int) and key < len(keys)
        if not has_key:
            return False
        keys = keys[key]
    return True
