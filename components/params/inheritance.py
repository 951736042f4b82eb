"""`extends: NAME`: a recipe contains only its differences from a base.

A section of the recipe is merged into the base's section key by key. Every other value replaces the base's value: a
scalar, a list, `null`, and a mapping whose keys are the user's names (`tasks.sites`, `rl.objective.max_per_source`).
`null` instead of an optional section (`judge.model`, `model.lora`) removes the section; a recipe that extends this one
starts that section from the defaults. Other sections cannot be removed.
`worlds` names all worlds of a recipe: a world that it does not name, or names with `null`, is not taken from the base.
The section of another world is merged into the section that the base has of it.
If a section has several kinds (`rl.objective.name`, `teacher.policy`) and a recipe changes the kind, the recipe keeps
none of the base's keys of that section. If a recipe changes a key so that others have no effect (`dependence`), it does
not have the base's values of those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic.fields import FieldInfo

from components.params.choice import choice_of, section_of_kind, sections_in
from components.params.dependence import lost_keys
from components.params.old_keys import moved
from components.params.recipe_file import RecipeError, RecipeLoader, syntax_problem
from components.params.section import Section
from components.params.worlds import NamedSections

EXTENDS = "extends"


@dataclass(frozen=True)
class Layer:
    """A file of the chain of a recipe and its bases."""

    path: Path
    keys: dict[str, Any]
    """The keys of the file, without `extends`."""


def read_chain(path: Path, folder: Path) -> list[Layer]:
    """A recipe's file and the files that it extends, the recipe first. A base is searched in the folder of the file
    that extends it, then in `folder`.

    Raises:
        RecipeError: a file is missing or not a recipe, the chain is a circle, or a key was renamed.
    """
    chain: list[Layer] = []
    while True:
        keys = _read(path, folder)
        base = keys.pop(EXTENDS, None)
        chain.append(Layer(path, keys))
        if base is None:
            break
        path = _base(path, base, folder, chain)
    outdated = [f"{layer.path}: {line}" for layer in chain for line in moved(layer.keys)]
    if outdated:
        raise RecipeError("\n".join(outdated))
    return chain


def resolve(chain: list[Layer], model: type[Section]) -> dict[str, Any]:
    """The keys of a recipe with those of its bases, without defaults."""
    keys: dict[str, Any] = {}
    for layer in reversed(chain):
        keys = merge(keys, layer.keys, model)
    return keys


def useless_nulls(chain: Sequence[Layer]) -> list[str]:
    """A line for each world with null in a file none of whose bases has that world: null only leaves out a world of a
    base, and YAML reads a name with nothing behind it as null."""
    worlds = [layer.keys.get("worlds") for layer in chain]
    named = [section if isinstance(section, Mapping) else {} for section in worlds]
    return [
        f"{layer.path}: worlds.{name} = null: no base has this world: write `{name}: {{}}` for the world with its "
        "defaults, or leave it out"
        for number, layer in enumerate(chain)
        for name, keys in named[number].items()
        if keys is None and all(base.get(name) is None for base in named[number + 1 :])
    ]


def merge(base: Mapping[str, Any], change: Mapping[str, Any], section: type[Section]) -> dict[str, Any]:
    """`base` with the keys of `change`; see the module's docstring."""
    merged = dict(base)
    for key, value in change.items():
        field, old = section.model_fields.get(key), base.get(key)
        if by_name := _named_sections(field, value):
            merged[key] = {
                name: _merge_named(old, name, inside, by_name.model_of(str(name))) for name, inside in value.items()
            }
            continue
        inner = _same_section(field, old, value)
        merged[key] = value if inner is None else merge(base[key], value, inner)
    for keys in lost_keys(section, base, merged):
        merged = _with_value(merged, keys, _value(change, keys))
    return merged


def _merge_named(base: Any, name: str, value: Any, section: type[Section] | None) -> Any:
    """The section of this name, merged into the section of the same name in the base, if there is one."""
    old = base.get(name) if isinstance(base, Mapping) else None
    if section is None or not isinstance(old, Mapping) or not isinstance(value, Mapping):
        return value
    return merge(old, value, section)


def difference(base: Mapping[str, Any], whole: Mapping[str, Any], section: type[Section]) -> dict[str, Any]:
    """The keys that turn `base` into `whole`: `merge(base, difference(base, whole)) == whole`. Both must be complete:
    each section has all keys of its kind."""
    change: dict[str, Any] = {}
    for key, value in whole.items():
        if key in base and base[key] == value:
            continue
        field, old = section.model_fields.get(key), base.get(key)
        if by_name := _named_sections(field, value):
            change[key] = {
                name: _difference_named(old, name, inside, by_name.model_of(name)) for name, inside in value.items()
            }
            continue
        inner = _same_section(field, old, value)
        change[key] = value if inner is None else difference(base[key], value, inner)
    for keys in lost_keys(section, base, whole):
        change = _with_value(change, keys, _value(whole, keys))
    return change


def _value(keys: Mapping[str, Any], path: Sequence[str]) -> Any:
    """The value at a path, such as `("distill", "vllm")`; `...` if there is none."""
    value: Any = keys
    for key in path:
        value = value.get(key, ...) if isinstance(value, Mapping) else ...
    return value


def _with_value(keys: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """A copy of the keys with this value at a path, or without the path if the value is `...`."""
    key, *inside = path
    if inside:
        inner = keys.get(key, {} if value is not ... else None)
        return {**keys, key: _with_value(inner, inside, value)} if isinstance(inner, dict) else keys
    if value is ...:
        return {name: old for name, old in keys.items() if name != key}
    return {**keys, key: value}


def _difference_named(base: Any, name: str, value: Any, section: type[Section] | None) -> Any:
    old = base.get(name) if isinstance(base, Mapping) else None
    if section is None or not isinstance(old, Mapping) or not isinstance(value, Mapping):
        return value
    return difference(old, value, section)


def _named_sections(field: FieldInfo | None, value: Any) -> NamedSections | None:
    """The annotation that finds sections by name, if the field is a mapping of names to sections."""
    if field is None or not isinstance(value, Mapping):
        return None
    return next((item for item in field.metadata if isinstance(item, NamedSections)), None)


class Change(NamedTuple):
    """A key with two different values. `...` stands for a missing key."""

    key: str
    old: Any
    new: Any


def changes(base: Mapping[str, Any], whole: Mapping[str, Any]) -> list[Change]:
    """The dotted keys in which two recipes differ. An empty section that has keys now is shown by its keys alone."""
    old, new = dict(_flat(base)), dict(_flat(whole))
    gone = [key for key in old if key not in new and not any(other.startswith(f"{key}.") for other in new)]
    both = [Change(key, old.get(key, ...), new.get(key, ...)) for key in [*new, *gone]]
    return [change for change in both if change.old != change.new]


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, inside in value.items():
        if isinstance(inside, Mapping) and inside:
            yield from _flat(inside, f"{prefix}{key}.")
        else:
            yield prefix + key, inside


def _same_section(field: FieldInfo | None, old: Any, new: Any) -> type[Section] | None:
    """The section of both values, if they have the same kind; None if `new` replaces `old`."""
    if field is None or not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return None
    choice = choice_of(field)
    if choice is None:
        return next(iter(sections_in(field)), None)
    kind = choice.kind_of(old)
    return section_of_kind(field, choice, kind) if new.get(choice.key, kind) == kind else None


def _read(path: Path, folder: Path) -> dict[str, Any]:
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), RecipeLoader)
    except FileNotFoundError as error:
        raise RecipeError(f"{path}: no such recipe; {_remedy(path, folder)}") from error
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror}): name a recipe's file") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not YAML: {syntax_problem(error)}") from error
    if raw is None:
        raise RecipeError(f"{path}: a recipe is a mapping of sections, this file is empty")
    if not isinstance(raw, dict):
        raise RecipeError(f"{path}: a recipe is a mapping of sections, this is a {type(raw).__name__}")
    return raw


def _remedy(path: Path, folder: Path) -> str:
    """What to do without the recipe of this path."""
    known = sorted(file.stem for file in folder.glob("*.yaml"))
    if not known:
        return f"{folder}/ has none either: go to the folder of your checkout of Waymark first"
    if path.name == "params.yaml":
        return "pick one with `waymark use recipes/demo.yaml`"
    return f"there are {', '.join(known)} in {folder}/; name one of them or a file"


def _base(path: Path, base: Any, folder: Path, chain: list[Layer]) -> Path:
    """The file that `path` extends."""
    if not isinstance(base, str):
        raise RecipeError(f"{path}: {EXTENDS} = {base!r}: give the name of one recipe, such as demo")
    places = [path.parent / f"{base}.yaml", folder / f"{base}.yaml"]
    files = [place for place in places if place.is_file()]
    if not files:
        known = sorted({file.stem for place in (path.parent, folder) for file in place.glob("*.yaml")} - {path.stem})
        raise RecipeError(f"{path}: {EXTENDS} = {base!r}: no such recipe; there are {', '.join(known) or 'none here'}")
    seen = {layer.path.resolve() for layer in chain}
    other = [
        place for place in files if place.resolve() != path.resolve()
    ]  # mine/demo.yaml may extend recipes/demo.yaml
    if not other or other[0].resolve() in seen:
        circle = " extends ".join([*(str(layer.path) for layer in chain), str(files[0])])
        raise RecipeError(f"{path}: {EXTENDS} = {base!r}: the recipes extend each other in a circle: {circle}")
    return other[0]
