"""Nested mappings as flat mappings with dotted names, as MLflow stores them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from numbers import Real


def flatten(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """A nested mapping as one flat mapping with dotted names."""
    flat: dict[str, object] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{name}."))
        else:
            flat[name] = value
    return flat


def numbers(values: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    """The numbers in a nested mapping by dotted name; those in lists get their index. Other values are left out."""
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
    """The key with characters that MLflow refuses replaced by `_`."""
    return re.sub(r"[^\w\-. :/]", "_", key)
