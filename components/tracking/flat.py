"""Nested mappings as flat mappings with dotted names, and the names under which MLflow stores them."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real

_LONGEST = 250
"""Characters of a name that MLflow accepts."""
_DIGEST = 8


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
    """The numbers in a nested mapping by the name for MLflow; those in lists get their index. Other values are left
    out."""
    numeric: dict[str, float] = {}
    for key, value in flatten(values).items():
        if isinstance(value, Real):
            numeric[key] = float(value)
        elif isinstance(value, list | tuple):
            numeric |= {f"{key}.{index}": float(item) for index, item in enumerate(value) if isinstance(item, Real)}
    names = mlflow_names(numeric)
    yield from ((names[key], value) for key, value in numeric.items())


def mlflow_names(keys: Iterable[str]) -> dict[str, str]:
    """A name that MLflow accepts for each key. No two of the keys have the same name.

    Keys hold names of websites and families, which may have any characters. If several keys would get one name, those
    that are not this name end in a digest.
    """
    names = {key: _accepted(key) for key in keys}
    counts = Counter(names.values())
    return {key: name if name == key or counts[name] == 1 else _cut(name, key) for key, name in names.items()}


def _accepted(key: str) -> str:
    """The key with `_` in place of what MLflow refuses: most punctuation, and slashes that a file system would drop."""
    name = re.sub(r"[^\w\-. :/]", "_", key)
    if posixpath.normpath(name) != name or name.startswith("/"):
        name = name.replace("/", "_")
    if name in ("", ".") or name.startswith(".."):
        name = f"_{name}"
    return name if len(name) <= _LONGEST else _cut(name, key)


def _cut(name: str, key: str) -> str:
    """The name with a digest of the key at its end, within MLflow's limit."""
    digest = hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:_DIGEST]
    return f"{name[: _LONGEST - _DIGEST - 1]}-{digest}"
