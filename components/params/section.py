"""The base class of all sections of a recipe, and the mark of keys that do not affect results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

SEEDS = 2**32
"""Seeds are below this number."""
Seed: TypeAlias = Annotated[int, Field(ge=0, lt=SEEDS)]

# Numbers that multiply the work of a run. Beyond these limits, far above all that papers have, one is a slip of the
# keyboard, which would fill the memory or never end. A maximum that may mean "all", such as `teacher.tasks`, has none.
Attempts: TypeAlias = Annotated[int, Field(le=1024)]
"""Episodes of one task."""
Steps: TypeAlias = Annotated[int, Field(le=10_000)]
"""Steps of one episode."""
Groups: TypeAlias = Annotated[int, Field(le=100_000)]
"""Groups of one iteration."""
Rounds: TypeAlias = Annotated[int, Field(le=100_000)]
"""Iterations or epochs."""
Workers: TypeAlias = Annotated[int, Field(le=10_000)]
"""Processes, servers or browsers at work at the same time."""


class Section(BaseModel):
    """An immutable section. An unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)


class NoEffect:
    """Marks a field that does not affect results: `Annotated[int, NoEffect]`.

    A stage's state does not depend on such a field, so an interrupted stage continues after a change of it.
    """


@dataclass(frozen=True)
class NoEffectOf:
    """Marks a field with a mapping, of which these keys do not affect results."""

    keys: frozenset[str]


def deciding(section: Section) -> dict[str, Any]:
    """The values of a section, at any depth, without what is marked `NoEffect` or `NoEffectOf`."""
    values: dict[str, Any] = {}
    for name, field in type(section).model_fields.items():
        if NoEffect in field.metadata:
            continue
        values[name] = _plain(getattr(section, name))
        for mark in field.metadata:
            if isinstance(mark, NoEffectOf):
                values[name] = {key: value for key, value in values[name].items() if key not in mark.keys}
    return values


def value_at(recipe: Mapping[str, object], key: str) -> Any:
    """The value of a dotted key; None if the recipe does not have it."""
    value: object = recipe
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return deciding(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
