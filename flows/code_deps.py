"""Writes the code dependencies of every stage in dvc.yaml from the real imports: `make deps`.

DVC reruns a stage when the code that its results come from changes. That code is every module of this project
that the stage's module imports, directly or indirectly, and the files that those modules name (`.js`, tables, scripts
that run as processes). A package of which a stage uses at least three quarters is listed as a folder, which is shorter
and at worst reruns too much.

Code that affects only where and how results are stored is left out (`PLUMBING`); dvc.yaml lists a stage's parameters
key by key.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
PLUMBING = (
    "components/__init__.py",
    "components/journal.py",
    "components/pipeline/__init__.py",
    "components/pipeline/curve.py",
    "components/pipeline/stage_run.py",
    "components/params/",
    "components/plan/calibration.py",
    "components/plugins.py",
    "components/quality/",
    "components/records.py",
    "components/redaction.py",
    "components/stages/__init__.py",
    "components/store.py",
    "components/tracking/",
)
"""Files and folders that affect no result."""
FOUND_BY_NAME = {
    "components/agent/protocols/registry.py": "components/agent/protocols",
    "components/judge/protocols/registry.py": "components/judge/protocols",
    "components/training/objectives/registry.py": "components/training/objectives",
    "components/worlds/registry.py": "components/worlds",
}
"""Modules that import other modules by a name from the recipe, and the folder of these modules."""
WIDTH = 120
_STAGE = re.compile(r"^  (\w+):$")
_COMMAND = re.compile(r"^( +)cmd: python -m components\.stages\.(\w+)")


def code_deps(stage: str) -> list[str]:
    """The code dependencies of a stage, as sorted paths from the root."""
    return _with_folders(used_files(ROOT / f"components/stages/{stage}.py"))


def used_files(start: Path) -> set[str]:
    """All files of this project that a module uses, at any depth, without `PLUMBING`, as paths from the root."""
    open_files, seen = [start], set()
    while open_files:
        path = open_files.pop()
        if path not in seen:
            seen.add(path)
            if not _is_plumbing(path):
                open_files += _imported(path)
                if _name(path) in FOUND_BY_NAME:
                    open_files += (ROOT / FOUND_BY_NAME[_name(path)]).rglob("*.py")
                seen |= _read_beside(path)
    return {_name(path) for path in seen if not _is_plumbing(path)}


def rewrite(text: str) -> str:
    """The text of dvc.yaml with updated code dependencies of every stage; everything else is unchanged, also
    comments."""
    lines, out, index = text.split("\n"), [], 0
    stage: str | None = None
    while index < len(lines):
        line = lines[index]
        if _STAGE.match(line):
            stage = None
        command = _COMMAND.match(line)
        if command:
            stage = command[2]
        if stage is not None and re.match(r"^ +deps:", line):
            end = _end_of(lines, index)
            indent = line[: len(line) - len(line.lstrip())]
            data = [
                dep for dep in yaml.safe_load("\n".join(lines[index:end]))["deps"] if not dep.startswith("components/")
            ]
            out += _deps_block(indent, data, code_deps(stage))
            index = end
            continue
        out.append(line)
        index += 1
    return "\n".join(out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite dvc.yaml; with `--check`, exit with 1 if that would change it."""
    parser = argparse.ArgumentParser(prog="python -m flows.code_deps", description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if dvc.yaml is out of date")
    options = parser.parse_args(arguments)
    path = ROOT / "dvc.yaml"
    old = path.read_text()
    new = rewrite(old)
    if old == new:
        return 0
    if options.check:
        print("dvc.yaml lists other code than the stages import: run `make deps`", file=sys.stderr)
        return 1
    path.write_text(new)
    return 0


def _deps_block(indent: str, data: Iterable[str], code: Iterable[str]) -> list[str]:
    items = [f'"{dep}"' if "$" in dep else dep for dep in [*data, *code]]
    rows, row = [], ""
    for item in items:
        if row and len(indent) + 2 + len(row) + len(item) + 2 > WIDTH:
            rows.append(row)
            row = ""
        row += f"{', ' if row else ''}{item}"
    rows.append(row)
    return [f"{indent}deps: [", *(f"{indent}  {row}," for row in rows[:-1]), f"{indent}  {rows[-1]}", f"{indent}]"]


def _end_of(lines: Sequence[str], start: int) -> int:
    """The line after the block that begins at `start`: the next line with no deeper indent and no closing bracket."""
    indent = len(lines[start]) - len(lines[start].lstrip())
    index = start + 1
    while index < len(lines):
        text = lines[index].strip()
        depth = len(lines[index]) - len(lines[index].lstrip())
        if text and (depth < indent or (depth == indent and text[0] not in "]-")):
            return index
        index += 1
    return index


def _with_folders(files: set[str]) -> list[str]:
    """The files; a folder replaces the files of a package of which at least three quarters are used."""
    chosen = set(files)
    folders = {parent for name in files for parent in Path(name).parents if len(parent.parts) >= 2}
    for folder in sorted(folders, key=lambda path: len(path.parts)):
        inside = {name for name in files if Path(name).is_relative_to(folder)}
        all_files = {_name(path) for path in (ROOT / folder).rglob("*.py")}
        if folder.parts[1] not in ("stages", "pipeline") and 4 * len(inside & all_files) >= 3 * len(all_files) > 3:
            chosen -= inside
            if not any(folder.is_relative_to(other) for other in chosen):
                chosen.add(str(folder))
    return sorted(chosen)


@cache
def _imported(path: Path) -> frozenset[Path]:
    """Files of this project that a file imports from, at any depth of its code."""
    files: set[Path | None] = set()
    for node in ast.walk(ast.parse(path.read_text())) if path.suffix == ".py" else ():
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("components"):
            files |= {_source_of(node.module or "", alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            files |= {_module_file(alias.name) for alias in node.names if alias.name.startswith("components")}
    return frozenset(file for file in files if file is not None)


def _source_of(module: str, name: str) -> Path | None:
    """The file that defines `name` of `module`; the `__init__` of a package only re-exports names of its modules, some
    of which it imports at their first use and names for the type checker alone."""
    submodule = _module_file(f"{module}.{name}")
    if submodule is not None:
        return submodule
    file = _module_file(module)
    if file is None or file.name != "__init__.py":
        return file
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and name in {a.asname or a.name for a in node.names}:
            return _source_of(node.module, name)
    return file


def _module_file(module: str) -> Path | None:
    path = ROOT / module.replace(".", "/")
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)


def _read_beside(path: Path) -> set[Path]:
    """Scripts and tables beside a module, or scripts one folder below it, that its text names by path."""
    text, folder = path.read_text(), path.parent
    named = {file for file in (*folder.glob("*.js"), *folder.glob("*/*.py")) if _relative(file, folder) in text}
    return named | {file for file in (*folder.glob("*.py"), *folder.glob("*.json")) if f'"{file.name}"' in text}


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _is_plumbing(path: Path) -> bool:
    return any(_name(path) == entry or (entry.endswith("/") and _name(path).startswith(entry)) for entry in PLUMBING)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    sys.exit(main())
