"""The documentation says what is: links, paths, keys, error messages and examples of README and docs/ hold."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "reference/api" not in str(path)),
]
GENERATED = {"parameters.md", "cli.md", "stages.md", "records.md"}
WRITTEN = [page for page in PAGES if page.name not in GENERATED]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
TO_BE_WRITTEN = {
    "components/agent/protocols/current_page.py",
    "components/judge/protocols/last_screenshot.py",
    "components/params/objectives/mean_baseline.py",
    "components/training/objectives/mean_baseline.py",
}
"""Files that the how-to pages tell the reader to make."""
SOURCES = [*(ROOT / "components").rglob("*.py"), *(ROOT / "flows").rglob("*.py")]


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return FENCE.sub("", page.read_text())


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_readme_links_lead_to_files():
    """mkdocs checks the links of docs/; the README is not part of the site."""
    links = re.findall(r"\]\((?!https?://)([^)#]+)", (ROOT / "README.md").read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_no_page_has_the_marks_of_an_unfinished_merge():
    pages = [*WRITTEN, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
    assert [named(page) for page in pages if re.search(r"^(<{7}|>{7}) ", page.read_text(), re.MULTILINE)] == []


def test_links_between_pages_lead_to_pages():
    """`make docs` checks anchors and generated pages too."""
    links = [(page, link) for page in WRITTEN for link in re.findall(r"\]\((?!https?://)([^)#]+)", prose(page))]
    targets = [(page, link, (page.parent / link).resolve()) for page, link in links]
    assert [
        f"{named(page)}: {link}"
        for page, link, target in targets
        if not target.exists() and target.name not in GENERATED and ROOT / "docs/reference/api" not in target.parents
    ] == []


def test_the_policy_page_has_the_accuracy_of_the_shipped_base():
    """That of the last step, whose weights are shipped."""
    curve = json.loads((ROOT / "data/base_model/pretraining.json").read_text())["curve"]
    last = [row for row in curve if row["step"] == curve[-1]["step"] and "accuracy_list" in row]
    figures = [f"{row[key]:.1%}" for key in ("accuracy_list", "accuracy_pixels") for row in last]
    page = " ".join((ROOT / "docs/concepts/policy.md").read_text().split())
    (passage,) = re.findall(r"pages that it never saw were asked about.*?`data/base_model/pretraining\.json`", page)
    assert re.findall(r"\d+\.\d%", passage) == figures


def test_every_path_that_a_page_names_exists():
    """In backticks: with a folder of the project in front, or relative to components/."""
    pattern = re.compile(r"^(?:components|flows|recipes|tests|perf|docs)/[\w./-]+$|^[a-z_]+/[\w/]+\.py$")
    missing = [
        f"{named(page)}: {path}"
        for page in WRITTEN
        for path in CODE.findall(prose(page))
        if pattern.match(path) and not (ROOT / path).exists() and not (ROOT / "components" / path).exists()
        if path not in TO_BE_WRITTEN
    ]
    assert missing == []


def test_the_architecture_page_lists_every_package():
    page = (ROOT / "docs/concepts/architecture.md").read_text()
    cells = " ".join(re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE))
    listed = {name.strip("/") for name in CODE.findall(cells)} | {"doctor", "__init__"}
    modules = [path for path in (ROOT / "components").iterdir() if path.suffix == ".py" or any(path.glob("*.py"))]
    assert sorted({path.stem for path in modules} - listed) == []


def test_every_module_that_a_page_runs_exists():
    modules = {(named(page), name) for page in PAGES for name in re.findall(r"python -m ([\w.]+)", page.read_text())}
    assert [entry for entry in sorted(modules) if not _is_module(entry[1])] == []


def _is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return name in ("pytest", "venv") or path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@cache
def messages() -> tuple[str, ...]:
    """Every string of the program, the constant parts of f-strings joined by an ellipsis, and the Makefile."""
    found = [(ROOT / "Makefile").read_text()]
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
                found.append("".join(str(part) for part in parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return tuple(found)


def test_every_error_message_of_the_troubleshooting_page_exists():
    page = (ROOT / "docs/troubleshooting.md").read_text()
    listed = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert len(listed) > 50
    assert [message for message in listed if not _is_raised(message)] == []


def _is_raised(message: str) -> bool:
    """Whether one string of the program has all parts of the message, in order."""
    pattern = re.compile(".*?".join(re.escape(part.strip()) for part in message.split("…")), re.DOTALL)
    return any(pattern.search(text) for text in messages())


def keys() -> set[str]:
    """Every dotted key of a recipe, sections and kinds of sections included."""
    from components.params import Params
    from docs.generator.parameters import world_sections

    found: set[str] = set()
    for path, model in [("", Params), *world_sections()]:
        found.add(path)
        _collect(model, path, found)
    return found


def test_every_key_of_a_recipe_says_what_it_means():
    from components.params import Params
    from components.params.meaning import attribute_docstrings, meaning_of
    from docs.generator.parameters import placed, world_sections

    silent = [
        f"{path}.{name}"
        for model, path in placed([("", Params), *world_sections()]).items()
        for name, field in model.model_fields.items()
        if not meaning_of(name, field, attribute_docstrings(model)).removesuffix("Changes no result.").strip()
    ]
    assert silent == [], "write a docstring below the field"


def _collect(model, path: str, found: set[str]) -> None:
    from components.params.meaning import models_of

    for name, field in model.model_fields.items():
        full = f"{path}.{field.alias or name}".lstrip(".")
        found.add(full)
        for section in models_of(field):
            _collect(section, full, found)


def test_every_recipe_key_that_a_page_names_exists():
    known = keys()
    sections = {key for key in known if "." not in key} - {"name", "seed"}
    unknown = [
        f"{named(page)}: {key}"
        for page in WRITTEN
        for text in CODE.findall(prose(page))
        for key in re.findall(r"^([a-z_]+(?:\.[a-z_]+)+)(?=$|:| )", text)
        if key.partition(".")[0] in sections and key not in known and not (ROOT / key).exists()
        if not key.endswith((".py", ".yaml", ".jsonl")) and not (ROOT / "components" / key.partition(".")[0]).is_file()
    ]
    assert [key for key in unknown if not _is_code(key.partition(": ")[2])] == []


def _is_code(key: str) -> bool:
    """A dotted name of a module or an object in one, such as `agent.rendering.plain`."""
    head, *rest = key.split(".")
    return (ROOT / "components" / head / f"{rest[0]}.py").exists() or (ROOT / "components" / head / rest[0]).is_dir()


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page in one language, without their indentation."""
    found = FENCE.findall((ROOT / "docs" / page).read_text())
    return [re.sub(f"^{indent}", "", code, flags=re.MULTILINE) for indent, kind, code in found if kind == language]


def statements(code: str) -> Counter[str]:
    """The statements of a module, and those of its classes by themselves, whatever their layout."""
    counted: Counter[str] = Counter()
    for node in ast.parse(textwrap.dedent(code)).body:
        if isinstance(node, ast.ClassDef):
            counted[f"class {node.name}({', '.join(map(ast.unparse, node.bases))})"] += 1
        counted.update(map(ast.dump, node.body if isinstance(node, ast.ClassDef) else [node]))
    return counted


def differences(shown: Sequence[str], package: Sequence[Path]) -> list[str]:
    """Statements that the blocks of a page have and the files of a package lack, or the other way round."""
    on_page = sum(map(statements, shown), Counter[str]())
    written = sum((statements(path.read_text()) for path in package), Counter[str]())
    return sorted(((on_page - written) + (written - on_page)).elements())


def test_the_page_on_worlds_shows_its_package_whole_and_as_it_is():
    shown = [code for code in blocks("how-to/add-a-world.md", "python") if "def requirements" not in code]
    package = ROOT / "tests/third_party_world"
    assert differences(shown, [*(package / "waymark_shelf").glob("*.py")]) == []
    assert [text.strip() for text in blocks("how-to/add-a-world.md", "toml")] == [
        (package / "pyproject.toml").read_text().strip()
    ]


@pytest.mark.parametrize(
    ("page", "modules"),
    [
        ("add-a-protocol", ["current_page"]),
        ("add-an-objective", ["parameters", "mean_baseline"]),
        ("add-a-judge", ["last_screenshot"]),
    ],
)
def test_a_page_on_a_kind_shows_its_modules_as_they_are(page, modules):
    package = ROOT / "tests/third_party_kinds"
    shown = [code for code in blocks(f"how-to/{page}.md", "python") if "import mlflow" not in code]
    assert differences(shown, [package / f"waymark_baselines/{name}.py" for name in modules]) == []
    (entry,) = (code for code in blocks(f"how-to/{page}.md", "toml") if "entry-points" in code)
    assert entry.strip() in (package / "pyproject.toml").read_text()


def test_the_example_benchmark_has_the_keys_of_a_benchmark():

    from components.benchmarks.spec import Benchmark

    (text,) = (block for block in blocks("how-to/add-a-benchmark.md", "yaml") if block.startswith("name: mine"))
    raw = yaml.safe_load(text)
    raw["file"]["sha256"] = "0" * 64
    assert Benchmark.model_validate(raw).name == "mine"


RECIPES = [
    (page, text)
    for page in ("quick-start.md", "how-to/train-on-a-live-site.md", "how-to/first-run-on-a-gpu.md")
    for text in blocks(page, "yaml")
    if "\nextends:" in text
]


@pytest.mark.parametrize(("page", "text"), RECIPES, ids=[page for page, _ in RECIPES])
def test_the_example_recipes_are_valid(page, text, tmp_path, monkeypatch):
    from components.params import load

    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    for other in (text for name, text in RECIPES if name == page):
        Path(f"{yaml.safe_load(other)['name']}.yaml").write_text(other)
    assert load(Path(f"{yaml.safe_load(text)['name']}.yaml")).name


def test_the_example_task_rows_are_tasks(tmp_path):
    from components.tasks import load_files

    for page in ("how-to/train-on-a-live-site.md", "reference/task-files.md"):
        file = tmp_path / "rows.jsonl"
        file.write_text("".join(blocks(page, "json")))
        loaded = load_files([file])
        assert loaded.tasks
        assert loaded.rejections == []
