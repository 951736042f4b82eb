"""Nested mappings under the flat, dotted names that MLflow keeps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from numbers import Real


def flatten(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested mappings as one, with dotted names."""
    flat: dict[str, object] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{name}."))
        else:
            flat[name] = value
    return flat


def numbers(values: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    """The numbers in a mapping by name; those in lists with their index. All else is left out."""
    for name, value in flatten(values).items():
        if isinstance(value, Real):
            yield mlflow_name(name), float(value)
        elif isinstance(value, list | tuple):
            yield from (
                (mlflow_name(f"{name}.{index}"), float(item))
                for index, item in enumerate(value)
                if isinstance(item, Real)
            )


def mlflow_name(key: str) -> str:
    """A name that MLflow accepts."""
    return re.sub(r"[^\w\-. :/]", "_", key)
