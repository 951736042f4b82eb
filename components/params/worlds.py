"""The section `worlds` of a recipe: the worlds of a run. The package of each world defines its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationError

from components import plugins
from components.params.recipe_file import explain
from components.params.section import Section


def _sections(value: object) -> object:
    """Validates the keys of each world with the world's own model. A world with null, which a base has, is left out."""
    if not isinstance(value, Mapping):
        return value
    sections: dict[str, Section] = {}
    problems: list[str] = []
    for name, keys in value.items():
        if isinstance(keys, Section):
            sections[name] = keys
        elif keys is not None:
            try:
                sections[name] = model_of(str(name)).model_validate(keys)
            except plugins.UnknownKindError as error:
                problems.append(str(error))
            except ValidationError as error:
                problems += [explain(model_of(str(name)), f"worlds.{name}", detail) for detail in error.errors()]
    if problems:
        raise ValueError("; ".join(problems))
    if value and not sections:
        nulls = " and ".join(f"{name} = null" for name in value)
        raise ValueError(f"{nulls}: this leaves no world: write `{next(iter(value))}: {{}}` for the base's keys")
    return sections


def model_of(name: str) -> type[Section]:
    """The parameter model of a world: the attribute `Params` of its class."""
    kind: Any = plugins.find("worlds", name)
    return kind.Params


class NamedSections:
    """Annotation of a mapping of names to sections. The name determines the model of the section."""

    @staticmethod
    def model_of(name: str) -> type[Section] | None:
        """The section's model; None for an unknown name, which validation then reports."""
        try:
            return model_of(name)
        except plugins.UnknownKindError:
            return None


WorldSections = Annotated[
    dict[str, SerializeAsAny[Section]],
    NamedSections(),
    BeforeValidator(_sections),
    Field(min_length=1),
]
"""World name to section, in the order of the recipe."""
