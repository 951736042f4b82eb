"""Sections that exist in several kinds: one key names the kind, and each kind has its own keys.

    Objective = Annotated[MMGRPOParams | RFTParams, Choice("name", default="mm_grpo")]

Each kind is a `Section` whose field `name` is a `Literal` of one value. A recipe without `name` has the default kind.
A key that the kind does not have is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import Field, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from components.params.section import Section


@dataclass(frozen=True)
class Choice:
    """Annotation of a union of sections."""

    key: str
    """The field that names the kind."""
    default: str
    """The kind of a section without that key."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        union = handler(Annotated[source, Field(discriminator=self.key)])
        return core_schema.no_info_before_validator_function(self._with_kind, union)

    def _with_kind(self, value: object) -> object:
        return {self.key: self.default, **value} if isinstance(value, Mapping) and self.key not in value else value

    def kind_of(self, value: Mapping[str, Any]) -> Any:
        """The kind of a section as YAML gives it."""
        return value.get(self.key, self.default)


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


def section_of_kind(field: FieldInfo, choice: Choice, kind: Any) -> type[Section] | None:
    """The section of a field with this kind; None if there is no such kind."""
    for section in sections_of(field.annotation):
        if kind in get_args(section.model_fields[choice.key].annotation):
            return section
    return None
