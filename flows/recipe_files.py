"""The files that stages read and git does not have: fixed folders, and what the texts of a recipe may name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

UNTRACKED_INPUTS = ("data/demonstrations", "data/task_files")
"""Folders whose files git ignores and stages read."""
_ENVIRONMENT = ".venv"
"""How the names of folders with installed packages begin, such as that of vLLM's Python. Each clone has its own."""
_LONGEST_NAME = 255
"""Bytes of a file's name on Linux and macOS. A longer text is no path, and asking for it is an error."""


def possible_paths(value: object) -> set[str]:
    """The texts in a recipe, or in a part of it, that can be paths, as they stand; without those in environments."""
    return {
        text
        for text in _texts(value)
        if 0 < len(text) < 1024
        and text.isprintable()
        and not text.startswith(_ENVIRONMENT)
        and all(len(name.encode()) <= _LONGEST_NAME for name in text.split("/"))
    }


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inside in value.values():
            yield from _texts(inside)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inside in value:
            yield from _texts(inside)
    elif isinstance(value, str):
        yield value
