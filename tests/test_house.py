"""The rules of the house that a test can see: data flows one way, and one room knows each tool."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ["tasks", "browser", "sites", "agent", "policies", "rollout", "judge", "training", "evaluation"]
BASE = ["records", "params", "recipe_text", "secrets", "store", "endpoint"]
ONLY_STAGES = ["tracking", "quality"]
FILES = sorted((ROOT / "components").rglob("*.py"))
FLOWS = sorted((ROOT / "flows").rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Modules that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "components":
                found |= {f"components.{alias.name}" for alias in node.names}
    return found


def room_of(path: Path) -> str:
    return path.relative_to(ROOT / "components").parts[0].removesuffix(".py")


def rooms_used(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports(path) if name.startswith("components.")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_rooms_before_it(path):
    room, used = room_of(path), rooms_used(path)
    if room in ROOMS:
        assert used <= {*BASE, *ROOMS[: ROOMS.index(room) + 1]}
    elif room in ONLY_STAGES:
        assert used <= {*BASE, room}


def test_records_import_nothing_of_ours():
    assert rooms_used(ROOT / "components/records.py") == set()


def test_the_client_of_endpoints_lies_below_all_rooms():
    assert rooms_used(ROOT / "components/endpoint.py") <= {*BASE}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_components_never_import_prefect_or_dvc(path):
    assert not {name.split(".")[0] for name in imports(path)} & {"prefect", "dvc", "flows"}


@pytest.mark.parametrize(("library", "room"), [("mlflow", "tracking"), ("great_expectations", "quality")])
def test_one_room_knows_each_tool(library, room):
    knowing = {room_of(path) for path in FILES if library in {name.split(".")[0] for name in imports(path)}}
    assert knowing <= {room}


@pytest.mark.parametrize("path", [*FILES, *FLOWS], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_is_run_as_python(path):
    """Task files, model responses and pages are data; `model.eval()` is a method and another thing."""
    assert [node.lineno for node in ast.walk(ast.parse(path.read_text())) if runs_text(node)] == []


def runs_text(node: ast.AST) -> bool:
    """True where the builtins `eval` or `exec` are taken up, to be called or handed on."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(value=ast.Name(id="builtins"), attr=name):
            return name in {"eval", "exec"}
    return False


@pytest.mark.parametrize(
    ("code", "runs"),
    [
        ("eval(text)", True),
        ("kept = [exec(row['eval'])]", True),
        ("map(eval, texts)", True),
        ("builtins.eval(text)", True),
        ("model.eval()", False),
        ("eval: str", False),
        ("row.eval.eval_types", False),
    ],
)
def test_running_text_is_told_from_methods_and_fields_of_that_name(code, runs):
    assert any(runs_text(node) for node in ast.walk(ast.parse(code))) == runs


def test_flows_import_of_components_only_names():
    used = {room for path in (ROOT / "flows").glob("*.py") for room in rooms_used(path)}
    assert used <= {*BASE, "stages"}


def test_the_folder_mlflow_does_not_shadow_the_library():
    assert not (ROOT / "mlflow/__init__.py").exists()
