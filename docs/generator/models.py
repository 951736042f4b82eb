"""Pydantic models as Markdown tables: each field with type, limits, default and the docstring below it."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
import types
import typing
from collections.abc import Iterator
from enum import Enum

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from docs.generator.text import cell_of

LIMITS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤", "min_length": "length ≥", "max_length": "length ≤"}


def anchor(path: str) -> str:
    """The id of a section or a key in the page."""
    return re.sub(r"[^a-z0-9_.]+", "-", path.lower()).strip("-") or "top-level"


def paragraph(model: type) -> list[str]:
    """A class's own docstring; an inherited one says nothing of this class."""
    text = model.__dict__.get("__doc__") or ""
    return [markdown(inspect.cleandoc(text))] if text else []


def markdown(docstring: str) -> str:
    """A docstring as a paragraph or more. Indented blocks of a docstring are code in Markdown, too."""
    return docstring.replace("{", "&#123;") if "{{" in docstring else docstring


def table(model: type[BaseModel], path: str, paths: dict[type[BaseModel], str] | None = None) -> list[str]:
    """The rows of a model's fields. With the `paths` of all sections, fields have anchors and sections are links."""
    rows = [f"| {'field' if paths is None else 'key'} | type | default | meaning |", "|---|---|---|---|"]
    documents = attribute_docstrings(model)
    for name, field in model.model_fields.items():
        key = field.alias or name
        sections = list(models_in(field.annotation))
        meaning = documents.get(name) or field.description or first_line(sections)
        if any(getattr(item, "__name__", type(item).__name__) == "NoEffect" for item in field.metadata):
            meaning += " Changes no result."
        full = f"{path}.{key}" if path else key
        label = f"`{key}`" if paths is None or sections else f'<code id="{anchor(full)}">{key}</code>'
        cells = [label, shown_type(field, sections, paths), shown_default(field), meaning]
        rows.append("| " + " | ".join(cell_of(text) for text in cells) + " |")
    return rows


def first_line(sections: list[type[BaseModel]]) -> str:
    """What a section is, for the row of the key that holds it."""
    return (inspect.getdoc(sections[0]) or "").partition("\n")[0] if sections else ""


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
            is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            if name and is_text and isinstance(following.value.value, str):
                documents[name] = inspect.cleandoc(following.value.value)
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


def kind_of(section: type[BaseModel]) -> str:
    """The value by which a union of sections tells this one from the others, such as `mm_grpo`."""
    for field in section.model_fields.values():
        if typing.get_origin(field.annotation) is typing.Literal:
            return " or ".join(str(value) for value in typing.get_args(field.annotation))
    return section.__name__


def shown_type(field: FieldInfo, sections: list[type[BaseModel]], paths: dict[type[BaseModel], str] | None) -> str:
    """A type as a reader of YAML knows it, with its limits; sections and records are links."""
    if sections:
        names = [kind_of(section) if len(sections) > 1 else "section" for section in sections]
        links = [
            f"[{section.__name__}](#{section.__name__.lower()})"
            if paths is None
            else f"[{name}](#{anchor(paths[section])})"
            for name, section in zip(names, sections, strict=True)
        ]
        text = " or ".join(links)
        origin = typing.get_origin(field.annotation)
        if origin in (list, dict):
            text = f"{origin.__name__} of {text}"
        return text + (" or `null`" if type(None) in typing.get_args(field.annotation) else "")
    limits = []
    for item in field.metadata:
        for name, sign in LIMITS.items():
            value = getattr(item, name, None)
            if value is not None:
                limits.append(f"{sign} {value:g}")
    return plain_type(field.annotation) + (f", {', '.join(limits)}" if limits else "")


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
