"""JSON schemas of the answers; endpoints with structured output enforce them, others are asked for them in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def text() -> dict[str, Any]:
    """The schema of a text."""
    return {"type": "string"}


def texts() -> dict[str, Any]:
    """The schema of a list of texts."""
    return {"type": "array", "items": text()}


def one_of(words: Sequence[str]) -> dict[str, Any]:
    """The schema of one of some words."""
    return {"type": "string", "enum": list(words)}


def list_of(**fields: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list of objects with these fields."""
    return {"type": "array", "items": _object(fields)}


def json_schema(name: str, **fields: dict[str, Any]) -> dict[str, Any]:
    """The `response_format` for an object with exactly these fields."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": _object(fields)}}


def _object(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
