"""Sections that exist in several kinds: one key names the kind, and each kind has its own keys.

    Teacher = Annotated[ScriptedParams | ModelParams, Choice("policy", default="scripted")]
    Objective = Annotated[ObjectiveParams, Choice("name", default="mm_grpo", family="objectives")]

The kinds are the members of a union, or those of a family of `components.plugins`, which are subclasses of the section
that is named. Each kind is a `Section` in which the key is a `Literal` of one value. A recipe without the key has the
default kind. A key that the kind does not have is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import Field, GetCoreSchemaHandler, SerializeAsAny, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from components import plugins
from components.params.section import Section


@dataclass(frozen=True)
class Choice:
    """Annotation of a union of sections, or of the base class of a family's sections."""

    key: str
    """The field that names the kind."""
    default: str
    """The kind of a section without that key."""
    family: str | None = None
    """The family of the kinds (`components.plugins`); None for the members of a union."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if self.family is not None:
            whole = handler(Annotated[source, SerializeAsAny()])  # not only the keys that all kinds have
            return core_schema.no_info_before_validator_function(partial(self._of_family, source), whole)
        union = handler(Annotated[source, Field(discriminator=self.key)])
        return core_schema.no_info_before_validator_function(self._with_kind, union)

    def kinds(self, annotation: Any) -> list[type[Section]]:
        """The sections of a field with this choice. Kinds that are installed and cannot be imported are left out."""
        return sections_of(annotation) if self.family is None else [*_kinds_of(self.family, self.key, annotation)]

    def _of_family(self, base: type[Section], value: object) -> object:
        assert self.family is not None
        if not isinstance(value, Mapping):
            return value
        section = self._with_kind(value)
        assert isinstance(section, Mapping)
        name = str(section[self.key])
        if (reason := plugins.broken(self.family).get(name)) is not None:
            raise ValueError(reason)
        if name in plugins.names(self.family) and section_named(self.kinds(base), self.key, name) is None:
            raise ValueError(
                f"{self.family}: the kind that is installed as {name!r} is no {base.__name__} with {self.key}: "
                f'Literal["{name}"]'
            )
        return _reader(self.family, self.key, base).validate_python(section)

    def _with_kind(self, value: object) -> object:
        return {self.key: self.default, **value} if isinstance(value, Mapping) and self.key not in value else value

    def kind_of(self, value: Mapping[str, Any]) -> Any:
        """The kind of a section as YAML gives it."""
        return value.get(self.key, self.default)


@cache
def _kinds_of(family: str, key: str, base: type[Section]) -> tuple[type[Section], ...]:
    """The sections of a family, by name; without those whose `key` says another name, which no recipe could choose."""
    kinds = {name: plugins.find(family, name) for name in plugins.usable(family)}
    return tuple(
        kind
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, base) and _names(kind, key) == (name,)
    )


def _names(section: type[Section], key: str) -> tuple[Any, ...]:
    """The values that a section's `key` may have, if it is a `Literal`."""
    return get_args(section.model_fields[key].annotation) if key in section.model_fields else ()


@cache
def _reader(family: str, key: str, base: type[Section]) -> TypeAdapter[Section]:
    """What validates a section of any kind of a family."""
    kinds = _kinds_of(family, key, base)
    union: Any = Union[kinds]  # noqa: UP007, the members are known only here
    return TypeAdapter(Annotated[union, Field(discriminator=key)] if len(kinds) > 1 else kinds[0])


def choice_of(field: FieldInfo) -> Choice | None:
    """The `Choice` in a field's annotation, or None."""
    return next((item for item in field.metadata if isinstance(item, Choice)), None)


def sections_of(annotation: Any) -> list[type[Section]]:
    """The sections that a value of this type may be, without sections inside a list or a mapping."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return sections_of(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [section for part in get_args(annotation) for section in sections_of(part)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, Section) else []


def sections_in(field: FieldInfo) -> list[type[Section]]:
    """The sections that a field's value may be, of all kinds; without sections inside a list or a mapping."""
    choice = choice_of(field)
    return sections_of(field.annotation) if choice is None else choice.kinds(field.annotation)


def section_of_kind(field: FieldInfo, choice: Choice, kind: Any) -> type[Section] | None:
    """The section of a field with this kind; None if there is no such kind."""
    return section_named(choice.kinds(field.annotation), choice.key, kind)


def section_named(sections: Sequence[type[Section]], key: str, kind: Any) -> type[Section] | None:
    """The section whose `key` is a `Literal` with this kind; None if there is no such kind."""
    return next((part for part in sections if kind in _names(part, key)), None)
