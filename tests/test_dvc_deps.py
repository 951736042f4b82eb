"""DVC sees the code: whatever a stage's results come from is among its `deps`, so that a change makes it stale."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PLUMBING = {
    "components/__init__.py",
    "components/stages/__init__.py",
    "components/stages/_run.py",
    "components/stages/_curve.py",
    "components/store.py",
    "components/records.py",
    "components/secrets.py",
}
"""Where and how results are kept, not what they are; a stage reads its parameters from `params.yaml`, spelled out."""
PLUMBING_ROOMS = ("components/params/", "components/tracking/", "components/quality/")
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]


def module_file(module: str) -> Path | None:
    path = ROOT / module.replace(".", "/")
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)


def source_of(module: str, name: str) -> Path | None:
    """The file that defines `name` of `module`: a package only passes on what its rooms define."""
    submodule = module_file(f"{module}.{name}")
    if submodule is not None:
        return submodule
    file = module_file(module)
    if file is None or file.name != "__init__.py":
        return file
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and name in {a.asname or a.name for a in node.names}:
            return source_of(node.module, name)
    return file


@cache
def needs(path: Path) -> frozenset[Path]:
    """Files of ours that a file imports from, at any depth of its code."""
    found: set[Path | None] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("components"):
            found |= {source_of(node.module or "", alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {module_file(alias.name) for alias in node.names if alias.name.startswith("components")}
    return frozenset(file for file in found if file is not None)


def all_needs(stage: str) -> set[str]:
    """Everything that the stage's module uses, directly or through others, as paths from the root."""
    todo, seen = [ROOT / f"components/stages/{stage}.py"], set()
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            if not is_plumbing(path):
                todo += needs(path)
    return {str(path.relative_to(ROOT)) for path in seen if not is_plumbing(path)}


def is_plumbing(path: Path) -> bool:
    name = str(path.relative_to(ROOT))
    return name in PLUMBING or name.startswith(PLUMBING_ROOMS)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_all_the_code_it_uses(stage):
    deps = (STAGES[stage].get("do") or STAGES[stage])["deps"]
    missing = {need for need in all_needs(stage) if not any(need == dep or need.startswith(f"{dep}/") for dep in deps)}
    assert not missing


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_no_code_it_does_not_use(stage):
    deps = (STAGES[stage].get("do") or STAGES[stage])["deps"]
    code = [dep for dep in deps if dep.startswith("components/")]
    used = all_needs(stage)
    assert [dep for dep in code if not any(need == dep or need.startswith(f"{dep}/") for need in used)] == []
