"""A recipe as text: the YAML that it is read from, and the lines that say what is wrong in it."""

from __future__ import annotations

from typing import get_args

import yaml
from pydantic import BaseModel


class RecipeLoader(yaml.SafeLoader):
    """YAML that refuses a key given twice: the first of two `rl:` sections would be lost without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    "while reading a section", node.start_mark, f"found {key!r} twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def explain(recipe: type[BaseModel], where: str, detail: dict) -> str:
    """One line for one of pydantic's errors in a recipe: where, what it is, what is allowed."""
    field = ".".join(str(part) for part in detail["loc"]) or "(recipe)"
    if detail["type"] == "extra_forbidden":
        allowed = ", ".join(_allowed(recipe, detail["loc"][:-1]))
        return f"{where}: {field} = {detail['input']!r}: unknown field; allowed here: {allowed}"
    if detail["type"] == "missing":
        return f"{where}: {field}: is missing"
    message = detail["msg"].removeprefix("Value error, ")
    value = "" if isinstance(detail["input"], dict | BaseModel) else f" = {detail['input']!r}"
    return f"{where}: {field}{value}: {message}"


def _allowed(model: type[BaseModel], loc: tuple) -> list[str]:
    for part in loc:
        annotation = model.model_fields[str(part)].annotation if str(part) in model.model_fields else None
        kinds = (annotation, *get_args(annotation))  # a section, or a section that may be null
        sections = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if not sections:
            return []
        model = sections[0]
    return sorted(field.alias or name for name, field in model.model_fields.items())
