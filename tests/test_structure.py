"""Rules of the structure: data flows one way, and one package knows each tool. A failure lists all offenders."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from components import plugins
from tests.conftest import SLOW
from tests.source_trees import nodes

ROOT = Path(__file__).parent.parent
PACKAGES = [
    "tasks",
    "browser",
    "worlds",
    "agent",
    "model",
    "policies",
    "rollout",
    "formats",
    "judge",
    "training",
    "evaluation",
    "reports",
    "plan",
    "export",
    "pipeline",
    "benchmarks",
    "interactive",
    "openenv",
    "mcp_server",
    "study",
    "stages",
]
"""In the order of their imports: each uses itself and those before it."""
BASE = [
    "records",
    "params",
    "plugins",
    "redaction",
    "store",
    "lazy_records",
    "journal",
    "endpoint",
    "statistics",
    "success",
    "ports",
    "memory",
    "numerals",
    "imports",
    "architecture",
    "serving_limits",
    "launch_environment",
    "vllm_arguments",
    "stage_needs",
]
TOOLS = {"mlflow": "tracking", "great_expectations": "quality"}
"""Libraries that one package alone imports; the stages and what they share use that package."""
WITH_TOOLS = ["pipeline", "benchmarks", "study", "stages"]
ENGLISH = {"city": ("components/worlds/encyclopaedia", "components/training/pages.py")}
"""Worlds with a name of English, and where the word is not the world: articles about cities, and a list of words."""
FILES = sorted((ROOT / "components").rglob("*.py"))
FLOWS = sorted((ROOT / "flows").rglob("*.py"))


@cache
def imports(path: Path) -> frozenset[str]:
    """Modules that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "components":
                found |= {f"components.{alias.name}" for alias in node.names}
    return frozenset(found)


def package_of(path: Path) -> str:
    return path.relative_to(ROOT / "components").parts[0].removesuffix(".py")


def packages_used(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports(path) if name.startswith("components.")}


def libraries(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(path)}


def allowed(package: str) -> set[str]:
    """The packages that a package may import."""
    if package in PACKAGES:
        tools = TOOLS.values() if package in WITH_TOOLS else ()
        return {*BASE, *tools, *PACKAGES[: PACKAGES.index(package) + 1]}
    return {*BASE, package} if package in TOOLS.values() else {*BASE}


def offences(rule) -> dict[str, list[str]]:
    """What a rule finds in each file of `components`, without those in which it finds nothing."""
    found = {str(path.relative_to(ROOT)): sorted(rule(path)) for path in FILES}
    return {path: names for path, names in found.items() if names}


def test_a_package_imports_only_packages_before_it():
    above = {"cli", "doctor", "__init__"}
    assert (
        offences(lambda path: packages_used(path) - allowed(package_of(path)) if package_of(path) not in above else ())
        == {}
    )


def test_every_package_has_its_place_in_the_order():
    known = {*PACKAGES, *BASE, *TOOLS.values(), "cli", "doctor", "__init__"}
    assert {package_of(path) for path in FILES} <= known


def test_records_import_nothing_of_ours():
    assert packages_used(ROOT / "components/records.py") == set()


def test_components_never_import_prefect_or_dvc():
    assert offences(lambda path: libraries(path) & {"prefect", "dvc", "flows"}) == {}


def test_one_package_knows_each_tool():
    assert offences(lambda path: {tool for tool in libraries(path) & {*TOOLS} if TOOLS[tool] != package_of(path)}) == {}


def test_no_text_is_run_as_python():
    """Task files, model responses and pages are data; `model.eval()` is a method and another thing."""
    found = {
        str(path.relative_to(ROOT)): lines
        for path in [*FILES, *FLOWS]
        if (lines := [node.lineno for node in nodes(path) if runs_text(node)])
    }
    assert found == {}


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
    used = {package for path in (ROOT / "flows").rglob("*.py") for package in packages_used(path)}
    assert used <= {*BASE, "stages"}


def test_the_folder_mlflow_does_not_shadow_the_library():
    assert not (ROOT / "mlflow/__init__.py").exists()


def test_no_name_of_a_test_is_longer_than_70_characters():
    names = [
        node.name
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    assert [name for name in names if len(name) > 70] == []


def test_files_with_cases_for_the_slow_run_are_collected_there():
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)}
    files = [path for path, text in texts.items() if re.search(r"\bevery\(\d", text)]
    assert files
    assert [path for path in files if not SLOW.search(texts[path])] == []


def test_a_world_is_named_in_its_own_package_alone():
    """In code, comments, scripts and templates of `components` and `flows`; recipes, docs and tests name worlds."""
    packages = [path.parent for path in sorted((ROOT / "components/worlds").glob("*/world.py"))]
    recipes = re.compile("|".join(rf"\b{path.stem}\b" for path in (ROOT / "recipes").glob("*.yaml")))
    files = [
        path
        for folder in ("components", "flows")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".js", ".jinja", ".css"}
    ]
    named = [
        f"{path.relative_to(ROOT)}: {package.name}"
        for package in packages
        for path in files
        if not path.is_relative_to(package)
        and not any(path.is_relative_to(ROOT / other) for other in ENGLISH.get(package.name, ()))
        and world_pattern(package.name).search(recipes.sub("", path.read_text()))
    ]
    assert packages
    assert named == []


def test_an_objective_is_asked_and_not_told_by_its_name():
    """No comparison and no dependence of a key names a kind, outside of the objectives and their sections."""
    kinds = {path.stem for path in (ROOT / "components/training/objectives").glob("*.py")}
    names = {*plugins.builtin("objectives")}
    own = {
        path
        for folder in ("components/params/objectives", "components/training/objectives")
        for path in (ROOT / folder).glob("*.py")
    }
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (*FILES, *FLOWS)
        if path not in own
        for node in nodes(path)
        if isinstance(node, ast.Compare)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in ("NotWith", "OnlyWith"))
        if names & {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
    ]
    assert names <= kinds
    assert named == []


@cache
def world_pattern(name: str) -> re.Pattern[str]:
    """What names a world: its name in any case; a name that is also part of other words, as a word of its own."""
    if name == "live":
        # An adjective and a verb of many files, so only its package and its class are searched for. As a name it is in
        # `registry` and in the docstrings of `World` and of a recipe: a task that no world serves is the world's.
        return re.compile(rf"worlds[./]{name}|\b{name.title()}\b")
    if name in ENGLISH:
        return re.compile(rf"(?i:(?<![a-z]){name}(?![a-z]))|\b{name.title()}[A-Z]")
    return re.compile(f"(?i:{name})")


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("take a world such as the city", True),
        ("as vLLM and the City do", True),
        ("data/city_base_model", True),
        ("CityServer", True),
        ("capacity, opacity, bit_capacity", False),
    ],
)
def test_a_world_is_found_as_a_word_of_code_and_prose(text: str, is_named: bool):
    assert (world_pattern("city").search(text) is not None) == is_named
