"""Pydantic models as Markdown tables: each field with type, limits, default and the docstring below it."""

from __future__ import annotations

import inspect
import re
import typing

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from components.params.meaning import attribute_docstrings, kind_of, limited_type, meaning_of, models_of, shown_default
from docs.generator.text import cell_of


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
        sections = models_of(field)
        meaning = meaning_of(name, field, documents)
        full = f"{path}.{key}" if path else key
        label = f"`{key}`" if paths is None or sections else f'<code id="{anchor(full)}">{key}</code>'
        cells = [label, shown_type(field, sections, paths), shown_default(field), meaning]
        rows.append("| " + " | ".join(cell_of(text) for text in cells) + " |")
    return rows


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
    return limited_type(field)
