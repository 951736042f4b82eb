"""A recipe as text: its YAML, and the lines that explain its errors."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple, get_args

import yaml
from pydantic import BaseModel
from pydantic_core import ErrorDetails

from components.params.choice import choice_of, section_of_kind, sections_in, sections_of
from components.params.section import Section

MAX_DEPTH = 64
"""Levels of sections and lists in a file. No recipe has 10."""


class RecipeError(ValueError):
    """A recipe with errors. The message has one line per wrong field, with file, value and allowed values."""


class ShallowLoader(yaml.SafeLoader):
    """YAML that refuses deep nesting, and an alias inside of the value that it stands for: without the checks, both end
    in a traceback, here or where the values are used."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._open: list[str | None] = []
        """The anchors of the values around the present one."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A value with all values inside."""
        event: Any = self.peek_event()
        problem = f"more than {MAX_DEPTH} levels are nested" if len(self._open) == MAX_DEPTH else None
        if self.check_event(yaml.AliasEvent) and event.anchor in self._open:
            problem = f"*{event.anchor} stands inside of its own value"
        if problem:
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        self._open.append(event.anchor)
        node = super().compose_node(parent, index)
        self._open.pop()
        return node


class RecipeLoader(ShallowLoader):
    """YAML that refuses duplicate keys: without the check, the first of two `rl:` sections would be lost silently. A
    key beside `<<` may be one of the merged section's, which it replaces."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._flat: set[int] = set()
        """The ids of the mappings that have the keys of the merged ones already."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Replace `<<` by the keys of the merged sections. A duplicate key in the file is an error."""
        if id(node) not in self._flat:
            self._flat.add(id(node))
            self._require_each_key_once(node)
        super().flatten_mapping(node)

    def _require_each_key_once(self, node: yaml.MappingNode) -> None:
        seen: set[object] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(
                    "while reading a section", node.start_mark, f"{key!r} is no name of a key", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    "while reading a section", node.start_mark, f"found {key!r} twice", key_node.start_mark
                )
            seen.add(key)


class _Dumper(yaml.SafeDumper):
    """Writes one line per key, and lists of plain values in one line."""


def _dump_list(dumper: yaml.SafeDumper, values: list) -> yaml.Node:
    plain = not any(isinstance(value, dict | list) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=plain)


_Dumper.add_representer(list, _dump_list)


def as_yaml(values: dict[str, Any]) -> str:
    """The text of a recipe, with the keys in their order."""
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def syntax_problem(error: yaml.YAMLError | UnicodeDecodeError) -> str:
    """What is wrong with a file that is not YAML, in one line with the place."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8: save the file as UTF-8"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    return " ".join(str(error).split())


class Place(NamedTuple):
    """The position of an error in a recipe."""

    keys: tuple[str | int, ...]
    """The keys as the file has them. The locations of pydantic also contain the kinds of sections."""
    section: type[Section] | None
    """The section at these keys, if there is one."""
    kind: str
    """A phrase such as ` where name = rft`, if the section has several kinds."""


def place(model: type[Section], location: tuple[str | int, ...]) -> Place:
    """Converts a location of pydantic to a position in a recipe."""
    keys: list[str | int] = []
    section: type[Section] | None = model
    kind, rest = "", [*location]
    while rest:
        part = rest.pop(0)
        keys.append(part)
        if section is None or part not in section.model_fields:
            section, kind = (section, kind) if isinstance(part, int) else (None, "")
            continue
        field = section.model_fields[str(part)]
        choice = choice_of(field)
        if choice is not None and rest:
            tag = rest.pop(0)
            section, kind = section_of_kind(field, choice, tag), f" where {choice.key} = {tag}"
        else:
            inside = sections_in(field) or _sections_inside(field.annotation)
            section, kind = (inside[0] if inside and choice is None else None), ""
    return Place(tuple(keys), section, kind)


def explain(model: type[Section], where: str, detail: ErrorDetails) -> str:
    """One line for an error of pydantic in a recipe, with the field, its value and the allowed values."""
    error_place = place(model, detail["loc"])
    field = ".".join(str(part) for part in error_place.keys) or "(recipe)"
    if detail["type"] == "extra_forbidden":
        parent = place(model, detail["loc"][:-1])
        allowed = ", ".join(sorted(parent.section.model_fields)) if parent.section is not None else ""
        return f"{where}: {field} = {detail['input']!r}: unknown field{parent.kind}; allowed here: {allowed}"
    if detail["type"] == "missing":
        return f"{where}: {field}: is missing"
    if detail["type"] == "union_tag_invalid":
        key, tag = detail["ctx"]["discriminator"].strip("'"), detail["ctx"]["tag"]
        return f"{where}: {field}.{key} = {tag!r}: must be one of {detail['ctx']['expected_tags']}"
    if detail["type"] in ("model_type", "model_attributes_type"):
        return f"{where}: {field} = {detail['input']!r}: must be a section, which is a mapping of its keys"
    message = detail["msg"].removeprefix("Value error, ")
    value = "" if isinstance(detail["input"], dict | BaseModel) else f" = {detail['input']!r}"
    return f"{where}: {field}{value}: {message}"


def _sections_inside(annotation: Any) -> list[type[Section]]:
    """The sections in a list or a mapping of sections."""
    parts = get_args(annotation)
    return [section for part in parts for section in sections_of(part) or _sections_inside(part)]
