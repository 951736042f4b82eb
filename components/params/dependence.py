"""Keys that have an effect only with some values of another key, and the check that refuses them with the other values.

    host_delay_s: Annotated[float, NotWith("per_host", None)] = 0.0

An ignored key may have its default value, because a complete recipe such as params.yaml contains every key. If a recipe
changes the other key, it does not inherit the ignored one from its base (`inheritance`).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from components.params.choice import choice_of
from components.params.section import Section

Keys = tuple[str | int, ...]


@dataclass(frozen=True)
class Dependence(ABC):
    """Annotation of a field that has an effect only with some values of another key."""

    key: str
    """The other key, in the same section. If its value is a section with several kinds, its kind is compared."""
    value: Any

    @abstractmethod
    def is_met(self, value: Any) -> bool:
        """Whether the field has an effect with this value of the other key."""

    @abstractmethod
    def remedy(self, key: str) -> str:
        """What to do with the other key, whose whole path is given, so that the field has an effect."""


class OnlyWith(Dependence):
    """Annotation of a field that has an effect only if the other key has this value."""

    def is_met(self, value: Any) -> bool:
        """Whether the other key has the value."""
        return value == self.value

    def remedy(self, key: str) -> str:
        """Setting the value."""
        return f"set {key} to {_shown(self.value)}"


class NotWith(Dependence):
    """Annotation of a field that has no effect if the other key has this value."""

    def is_met(self, value: Any) -> bool:
        """Whether the other key has another value."""
        return value != self.value

    def remedy(self, key: str) -> str:
        """Setting another value."""
        return f"change {key}"


class Ignored(NamedTuple):
    """A key that has no effect, although it was set to something else than its default."""

    keys: Keys
    """Its path."""
    reason: str


def ignored(section: Section, path: Keys = ()) -> Iterator[Ignored]:
    """The keys of a section, at any depth, that have no effect and another value than their default."""
    values = dict(section)
    for name, field in type(section).model_fields.items():
        unmet = unmet_dependence(type(section), values, name)
        if unmet is None:
            for place, inside in _sections_in(values[name], (*path, name)):
                yield from ignored(inside, place)
            continue
        choice = choice_of(type(section).model_fields[unmet.key])
        key = ".".join([*map(str, path), unmet.key, *([choice.key] if choice else [])])
        present = _shown(_value(type(section), values, unmet.key))
        for keys, value in _changed(values[name], field.get_default(call_default_factory=True), (*path, name)):
            label = ".".join(map(str, keys))
            why = f"has no effect with {key} = {present}: leave it out, or {unmet.remedy(key)}"
            yield Ignored(keys, f"{label} = {value!r}: {why}")


def unmet_dependence(section: type[Section], values: Mapping[str, Any], name: str) -> Dependence | None:
    """Why a key has no effect; None if it has one. `values` are those of the section, in which defaults may miss."""
    field = section.model_fields.get(name)
    dependences = [item for item in field.metadata if isinstance(item, Dependence)] if field is not None else []
    return next((item for item in dependences if not item.is_met(_value(section, values, item.key))), None)


def loses_effect(section: type[Section], base: Mapping[str, Any], new: Mapping[str, Any], name: str) -> bool:
    """Whether a key has an effect with the values of `base`, and none with those of `new`."""
    return unmet_dependence(section, base, name) is None and unmet_dependence(section, new, name) is not None


def _value(section: type[Section], values: Mapping[str, Any], key: str) -> Any:
    """The value of a key, or its default; of a section with several kinds, its kind."""
    field = section.model_fields[key]
    value = values[key] if key in values else field.get_default(call_default_factory=True)
    choice = choice_of(field)
    if choice is None:
        return value
    inside = dict(value) if isinstance(value, Section) else value
    return choice.kind_of(inside) if isinstance(inside, Mapping) else None


def _sections_in(value: Any, path: Keys) -> Iterator[tuple[Keys, Section]]:
    """The sections in a value, which may be a list or a mapping of them."""
    if isinstance(value, Section):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inside in value.items():
            yield from _sections_in(inside, (*path, name))
    elif isinstance(value, list):
        for number, inside in enumerate(value):
            yield from _sections_in(inside, (*path, number))


def _changed(value: Any, default: Any, path: Keys) -> Iterator[tuple[Keys, Any]]:
    """The keys at which a value differs from its default."""
    if isinstance(value, Section) and isinstance(default, Section):
        for (name, inside), (_, of_default) in zip(value, default, strict=True):
            yield from _changed(inside, of_default, (*path, name))
    elif value != default:
        yield path, value


def _shown(value: Any) -> str:
    """A value as a recipe has it."""
    return value if isinstance(value, str) else json.dumps(value)
