"""The source files of a world, which decide its episodes whether this process has loaded them or not."""

from __future__ import annotations

import sys
from pathlib import Path

SUFFIXES = {".css", ".html", ".jinja", ".js", ".json", ".py", ".sh", ".sql", ".toml", ".ts", ".yaml", ".yml"}
"""Of code, page templates and rules. Files of other kinds are data."""
INSTALLED = {"__pycache__", "node_modules"}
"""Folders that programs fill."""


def sources_of(kind: type) -> list[Path]:
    """The source files of the package in which a class is defined; the file alone if its module is in no package."""
    module = sys.modules[kind.__module__]
    if not module.__file__:
        return []
    return sources_in(Path(module.__file__).parent) if module.__package__ else [Path(module.__file__)]


def sources_in(folder: Path) -> list[Path]:
    """The source files in a folder and in those within it, without hidden folders and what programs put there."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix in SUFFIXES
        and path.is_file()
        and not any(part.startswith(".") or part in INSTALLED for part in path.relative_to(folder).parts)
    ]
