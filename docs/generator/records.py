"""The page of records: `components/records.py`, in the order of that file."""

from __future__ import annotations

import inspect
from enum import Enum

from pydantic import BaseModel

from components.params.meaning import attribute_docstrings
from docs.generator.models import paragraph, table
from docs.generator.text import cell_of


def records() -> list[str]:
    """The records of `components/records.py`, in the order of that file."""
    from components import records as module

    lines = [
        "# Records",
        "",
        "Packages exchange these records and nothing else: frozen pydantic models of `components/records.py` that",
        "refuse unknown fields. Tables are Parquet files with one record per row. This page is generated.",
        "",
    ]
    classes = [
        value for value in vars(module).values() if inspect.isclass(value) and value.__module__ == module.__name__
    ]
    for cls in classes:
        if issubclass(cls, BaseModel) and cls.model_fields:
            lines += [f"## {cls.__name__}", "", *paragraph(cls), "", *table(cls, cls.__name__), ""]
        elif issubclass(cls, Enum):
            documents = attribute_docstrings(cls)
            lines += [f"## {cls.__name__}", "", *paragraph(cls), "", "| value | meaning |", "|---|---|"]
            lines += [f"| `{member.value}` | {cell_of(documents.get(member.name, ''))} |" for member in cls]
            lines.append("")
    return lines
