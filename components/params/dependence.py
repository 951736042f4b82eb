"""Keys that have an effect only with some values of another key, and the check that refuses them with the other values.

    host_delay_s: Annotated[float, NotWith("per_host", None)] = 0.0
    distill: Annotated[DistillParams, OnlyWith("reward", "distilled", part="vllm")]

An ignored key may have its default value, because a complete recipe such as params.yaml contains every key. If a recipe
changes the other key, it does not inherit the ignored one from its base (`inheritance`).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic_core import to_jsonable_python

from components.params.choice import choice_of, section_of_kind
from components.params.section import Section

Keys = tuple[str | int, ...]


class OtherKey(NamedTuple):
    """The key on which a field depends."""

    value: Any
    """Its value; of a section with several kinds, the name of its kind."""
    kind: type[Section] | None
    """The section of that kind; None without kinds, or if no kind has this name."""


@dataclass(frozen=True)
class Dependence(ABC):
    """Annotation of a field that has an effect only with some values of another key."""

    key: str
    """The other key, in the same section. If its value is a section with several kinds, its kind is compared."""
    value: Any
    """What the other key is compared with."""
    part: str = ""
    """The key inside the annotated section that depends; empty: the whole field does."""

    @abstractmethod
    def is_met(self, other: OtherKey) -> bool:
        """Whether the field has an effect with this value of the other key."""

    @abstractmethod
    def remedy(self, key: str) -> str:
        """What to do with the other key, whose whole path is given, so that the field has an effect."""


class OnlyWith(Dependence):
    """Annotation of a field that has an effect only if the other key has this value."""

    def is_met(self, other: OtherKey) -> bool:
        """Whether the other key has the value."""
        return bool(other.value == self.value)

    def remedy(self, key: str) -> str:
        """Setting the value."""
        return f"set {key} to {_shown(self.value)}"


class NotWith(Dependence):
    """Annotation of a field that has no effect if the other key has this value."""

    def is_met(self, other: OtherKey) -> bool:
        """Whether the other key has another value."""
        return bool(other.value != self.value)

    def remedy(self, key: str) -> str:
        """Setting another value."""
        return f"change {key}"


class NotIf(Dependence):
    """Annotation of a field that has no effect with some kinds of another section, which say so by a class attribute:
    `NotIf("objective", lambda kind: kind.trains_as_sft)`."""

    value: Callable[[Any], bool]
    """Whether a kind, given as its class, leaves the field without effect."""

    def is_met(self, other: OtherKey) -> bool:
        """Whether the other section is of another kind, or of none that exists."""
        return other.kind is None or not self.value(other.kind)

    def remedy(self, key: str) -> str:
        """Choosing another kind."""
        return f"change {key}"


class Ignored(NamedTuple):
    """A key that has no effect, although it was set to something else than its default."""

    keys: Keys
    """Its path."""
    reason: str


def ignored(section: Section, path: Keys = ()) -> Iterator[Ignored]:
    """The keys of a section, at any depth, that have no effect and another value than their default."""
    values = dict(section)
    for name in type(section).model_fields:
        unmet = unmet_dependences(type(section), values, name)
        for part, dependence in unmet.items():
            inside, default = _value_and_default(section, name, part)
            other = _other(type(section), values, dependence.key)
            choice = choice_of(type(section).model_fields[dependence.key])
            key = ".".join([*map(str, path), dependence.key, *([choice.key] if choice else [])])
            for keys, value in _changed(inside, default, (*path, name, *([part] if part else []))):
                label = ".".join(map(str, keys)) + ("" if isinstance(value, Section) else f" = {value!r}")
                reason = f"has no effect with {key} = {_shown(other.value)}: leave it out, or {dependence.remedy(key)}"
                yield Ignored(keys, f"{label}: {reason}")
        if "" not in unmet:
            for place, inside in _sections_in(values[name], (*path, name)):
                yield from ignored(inside, place)


def unmet_dependences(section: type[Section], values: Mapping[str, Any], name: str) -> dict[str, Dependence]:
    """Why a field, or a part of it, has no effect, by part; empty is the whole field. `values` are those of the
    section, in which defaults may miss."""
    unmet: dict[str, Dependence] = {}
    for item in section.model_fields[name].metadata:
        if isinstance(item, Dependence) and not item.is_met(_other(section, values, item.key)):
            unmet.setdefault(item.part, item)
    return unmet


def lost_keys(section: type[Section], base: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The paths, of one or two keys, that have an effect with the values of `base`, and none with those of `new`."""
    for name in section.model_fields:
        before = unmet_dependences(section, base, name)
        for part in unmet_dependences(section, new, name):
            if part not in before:
                yield (name, part) if part else (name,)


def _other(section: type[Section], values: Mapping[str, Any], key: str) -> OtherKey:
    """A key on which others depend, with its value or its default."""
    field = section.model_fields[key]
    value = values[key] if key in values else field.get_default(call_default_factory=True)
    choice = choice_of(field)
    if choice is None:
        return OtherKey(value, None)
    inside = dict(value) if isinstance(value, Section) else value
    kind = choice.kind_of(inside) if isinstance(inside, Mapping) else None
    return OtherKey(kind, section_of_kind(field, choice, kind))


def _value_and_default(section: Section, name: str, part: str) -> tuple[Any, Any]:
    """The value of a field, or of a part of it, and its default."""
    field, value = type(section).model_fields[name], dict(section)[name]
    if not part:
        return value, field.get_default(call_default_factory=True)
    return dict(value)[part], type(value).model_fields[part].get_default(call_default_factory=True)


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
    return value if isinstance(value, str) else json.dumps(to_jsonable_python(value))
