"""Syntax trees of source files, parsed once for all tests of style and structure."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a Python file, in the order of `ast.walk`."""
    return tuple(ast.walk(ast.parse(path.read_text())))
