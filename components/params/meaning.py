"""What the keys of a recipe mean: types, limits, defaults and docstrings, read from the pydantic models."""

from __future__ import annotations

import ast
import difflib
import inspect
import itertools
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from components import plugins
from components.params.choice import choice_of
from components.params.kind_name import KindName
from components.params.recipe_file import RecipeError

_LIMITS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤", "min_length": "length ≥", "max_length": "length ≤"}


def attribute_docstrings(model: type) -> dict[str, str]:
    """The string literals that follow a class's annotated attributes, those of its bases included."""
    documents: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if not cls.__module__.startswith(("components", "waymark", "flows")):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for statement, following in itertools.pairwise(body):
            name = attribute_name(statement)
            if name and isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                text = following.value.value
                if isinstance(text, str):
                    documents[name] = inspect.cleandoc(text)
    return documents


def attribute_name(statement: ast.stmt) -> str | None:
    """The name that a statement of a class body assigns, if it assigns one."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """The pydantic models with fields inside a type, in the order in which it names them."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        if issubclass(annotation, BaseModel) and annotation.model_fields:
            yield annotation
        return
    for part in typing.get_args(annotation):
        yield from models_in(part)


def models_of(field: FieldInfo) -> list[type[BaseModel]]:
    """The pydantic models with fields inside a field's type; of a section in several kinds, all of them."""
    choice = choice_of(field)
    return [*models_in(field.annotation)] if choice is None else [*choice.kinds(field.annotation)]


def kind_of(section: type[BaseModel]) -> str:
    """The value by which a union of sections tells this one from the others, such as `mm_grpo`."""
    for field in section.model_fields.values():
        if typing.get_origin(field.annotation) is typing.Literal:
            return " or ".join(str(value) for value in typing.get_args(field.annotation))
    return section.__name__


def plain_type(annotation: object) -> str:
    """A type in the words of a recipe's reader."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is type(None):
        return "`null`"
    if origin is typing.Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin is typing.Annotated:
        return plain_type(parts[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(plain_type(part) for part in parts)
    if origin is dict:
        return f"mapping of {plain_type(parts[0])} to {plain_type(parts[1])}"
    if origin in (list, tuple):
        inner = ", ".join(plain_type(part) for part in parts if part is not Ellipsis)
        return f"{origin.__name__} of {inner}" if inner else origin.__name__
    return getattr(annotation, "__name__", str(annotation))


def shown_default(field: FieldInfo) -> str:
    """The default as YAML writes it, or that there is none."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined or isinstance(value, BaseModel):
        return ""
    if isinstance(value, Enum):
        value = value.value
    names = {None: "null", True: "true", False: "false"}
    text = names[value] if value is None or isinstance(value, bool) else repr(value) if value == "" else str(value)
    return f"`{text}`"


def limited_type(field: FieldInfo) -> str:
    """The type of a key that is no section, with its limits, as a reader of YAML knows it."""
    limits = []
    for item in field.metadata:
        for name, sign in _LIMITS.items():
            value = getattr(item, name, None)
            if value is not None:
                limits.append(f"{sign} {value:g}")
    for item in (*field.metadata, *_inner_annotations(field.annotation)):
        if isinstance(item, KindName):
            limits += [f"one of {', '.join(f'`{name}`' for name in item.names)}, or a dotted path"]
    return plain_type(field.annotation) + (f", {', '.join(limits)}" if limits else "")


def _inner_annotations(annotation: object) -> list[object]:
    """What annotates the items of a list or a mapping."""
    return [
        item
        for part in typing.get_args(annotation)
        if typing.get_origin(part) is typing.Annotated
        for item in typing.get_args(part)[1:]
    ]


def meaning_of(name: str, field: FieldInfo, documents: Mapping[str, str]) -> str:
    """What a key means.

    Args:
        documents: the docstrings of its model's attributes.
    """
    sections = models_of(field)
    of_section = (inspect.getdoc(sections[0]) or "").partition("\n")[0] if sections else ""
    meaning = documents.get(name) or field.description or of_section
    return f"{meaning} Changes no result." if _has_no_effect(field) else meaning


def _has_no_effect(field: FieldInfo) -> bool:
    return any(getattr(item, "__name__", type(item).__name__) == "NoEffect" for item in field.metadata)


@dataclass(frozen=True)
class Key:
    """A key of a recipe, as one kind of section has it."""

    section: str
    """The kind of the section, such as `mm_grpo`; empty if there is only one kind."""
    type: str
    default: str
    """As YAML writes it, or `required`; empty for a section."""
    meaning: str
    inner: Mapping[str, str]
    """The keys of a section, with their meanings, by kind if there are several: `mm_grpo: clip_low`."""


def find_key(key: str) -> list[Key]:
    """A dotted key, such as `rl.objective.replay`, in each kind of section that has it.

    Raises:
        RecipeError: no section has it; the message names the nearest keys.
    """
    from components.params.recipe import Params

    *above, last = key.split(".")
    if above == ["worlds"]:
        return [_world(_world_section(last))]
    holders: list[type[BaseModel]] = [Params]
    for depth, part in enumerate(above):
        if depth < 2 and above[0] == "worlds":
            holders = [_world_section(part)] if depth else holders
            continue
        fields = [field for _, field in _fields(holders, part)]
        if not fields:
            raise _no_key(key, part, ".".join(above[:depth]), holders)
        holders = [section for field in fields for section in models_of(field)]
        if not holders:
            raise RecipeError(f"{key}: {'.'.join(above[: depth + 1])} is no section and has no keys")
    keys = [
        _key(holder, field, kind_of(holder) if len(holders) > 1 else "") for holder, field in _fields(holders, last)
    ]
    if not keys:
        raise _no_key(key, last, ".".join(above), holders)
    return keys


def _fields(holders: Sequence[type[BaseModel]], key: str) -> list[tuple[type[BaseModel], FieldInfo]]:
    """The fields of a key, with the sections that have them."""
    return [
        (holder, field)
        for holder in holders
        for name, field in holder.model_fields.items()
        if key == (field.alias or name)
    ]


def _world_section(name: str) -> type[BaseModel]:
    from components.params.worlds import model_of

    try:
        return model_of(name)
    except plugins.UnknownKindError as error:
        raise RecipeError(str(error)) from error


def _world(model: type[BaseModel]) -> Key:
    return Key("", "section", "", inspect.getdoc(model) or "", _inner([model]))


def _key(holder: type[BaseModel], field: FieldInfo, kind: str) -> Key:
    name = next(name for name, other in holder.model_fields.items() if other is field)
    sections = models_of(field)
    meaning = meaning_of(name, field, attribute_docstrings(holder))
    if not sections:
        return Key(kind, limited_type(field).replace("`", ""), shown_default(field).replace("`", ""), meaning, {})
    kinds = " or ".join(map(kind_of, sections)) if len(sections) > 1 else "section"
    return Key(kind, kinds, "", meaning, _inner(sections))


def _inner(sections: Sequence[type[BaseModel]]) -> dict[str, str]:
    keys = {}
    for section in sections:
        documents = attribute_docstrings(section)
        prefix = f"{kind_of(section)}: " if len(sections) > 1 else ""
        for name, field in section.model_fields.items():
            keys[f"{prefix}{field.alias or name}"] = meaning_of(name, field, documents)
    return keys


def _no_key(key: str, part: str, above: str, holders: Sequence[type[BaseModel]]) -> RecipeError:
    known = sorted({field.alias or name for holder in holders for name, field in holder.model_fields.items()})
    near = difflib.get_close_matches(part, known, 3) or known
    return RecipeError(f"{key}: {above or 'a recipe'} has no key {part!r}; it has {', '.join(near)}")
