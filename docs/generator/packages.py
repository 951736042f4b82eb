"""The pages of the API: one per package, which lists its modules for mkdocstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from docs.generator.text import cell_of

ROOT = Path(__file__).parents[2]
OTHER_ENVIRONMENTS = {"engine", "server"}
"""Folders whose modules run in environments of their own."""


def api() -> Iterator[tuple[str, list[str]]]:
    """A page for each package, which lists its modules for mkdocstrings."""
    folders = sorted({path.parent for path in (ROOT / "components").glob("*/*.py")})
    packages = ["components", *(f"components.{folder.name}" for folder in folders), "flows", "perf"]
    index = ["# API", "", "One page per package, generated from the docstrings.", ""]
    index += ["| package | purpose |", "|---|---|"]
    for package in packages:
        folder = ROOT / package.replace(".", "/")
        files = folder.rglob("*.py") if package != "components" else folder.glob("*.py")
        modules = sorted({module_name(path) for path in files if not OTHER_ENVIRONMENTS & {*path.parts}})
        lines = [f"# {package}", ""]
        for module in modules:
            lines += [f"::: {module}", *(["    options: {members: false}"] if only_imports(module) else []), ""]
        yield package, lines
        index.append(f"| [`{package}`]({package}.md) | {cell_of(purpose(folder))} |")
    yield "index", index


def module_name(path: Path) -> str:
    """The dotted name of a module."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


def only_imports(module: str) -> bool:
    """True for a package that defines nothing itself: what it imports is described with its own module."""
    file = ROOT / module.replace(".", "/") / "__init__.py"
    if not file.exists():
        return False
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return not any(isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) for node in body)


def purpose(folder: Path) -> str:
    """The first paragraph of a package's docstring."""
    file = folder / "__init__.py"
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) if file.exists() else ""
    return (text or "").partition("\n\n")[0]
