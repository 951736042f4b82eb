"""The English of comments, docstrings and texts, and the names of variables. A failure lists all offenders."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.source_trees import nodes

ROOT = Path(__file__).parent.parent
PACKAGES = ["components", "flows", "perf"]
"""Folders to whose Python files all rules apply."""
PAGES = ["README.md", "CONTRIBUTING.md", "NOTICE"]
"""Texts beside the pages of docs/ whose prose is read, too. The reference of the API is made from docstrings."""
FENCE = re.compile(r"^( *)(```+)[^\n]*\n.*?^\1\2`*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)\1(?!`)", re.DOTALL)
"""Code blocks and code spans of Markdown. A span ends in the paragraph in which it begins."""
OLD_WORDS = re.compile(r"\b(the house|rooms?|whoever|nobody|somebody|anybody|mend(?:s|ed)?)\b", re.IGNORECASE)
"""Images and pronouns that hide who acts. Name the component, the user or the process instead."""
NO_NOUNS = {
    *("one", "of", "said", "told", "some", "wanted", "asked", "found"),
    *("stays", "takes", "says", "has", "how", "also", "only", "apart", "why", "what"),
}
"""Words that do not say what a variable holds."""
ALLOWED: dict[str, set[str]] = {
    "components/benchmarks/results.py": {"asked", "also"},  # keys of result files
    "components/benchmarks/spec.py": {"also"},  # a key of a benchmark's file
    "components/evaluation/reasoning_markers.py": {"of"},
    "components/judge/attack_writer.py": {"mended"},
    "components/plan/image_cache.py": {"what"},  # a key of `waymark plan --format json`
    "components/reports/leaderboard.py": {"also"},  # a key of result files
    "components/tasks/blocklist.py": {"why"},  # a key of the blocklist
    "components/tasks/proposal.py": {"anybody", "somebody"},
    "components/worlds/city/server/city/building.py": {"what"},  # a change of this file rebuilds the city's image
    "components/worlds/effects.py": {"also"},  # a name that authors of tasks write, as in site.yaml
    "components/worlds/own_site/new/site.yaml.jinja": {"mend"},
    "components/worlds/own_site/task_file.py": {"also"},  # a key of site.yaml
    "perf/gpu_check/serving.py": {"what"},  # a key of the report
}
"""Words that a file may use, by its path: keys of files and names that others write, prompts of models and titles of
tasks, which stay as they are."""
CONTENT = ("components/worlds/city/server/", "components/worlds/city/tasks/")
"""Folders whose string literals are the texts that people of the city wrote."""


def files() -> list[Path]:
    """All Python files of `PACKAGES`."""
    paths = [ROOT / name for name in PACKAGES]
    return sorted(
        file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py")) if file.suffix == ".py"
    )


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Comments and docstrings (of attributes, too) with the lines on which they begin."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    for node in nodes(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def pages() -> list[Path]:
    """All Markdown pages that people write, README.md, CONTRIBUTING.md and NOTICE."""
    written = [path for path in (ROOT / "docs").rglob("*.md") if ROOT / "docs/reference/api" not in path.parents]
    return [*(ROOT / name for name in PAGES), *sorted(written)]


def page_prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a page with their numbers. Code blocks and code spans are blank."""
    for code in (FENCE, CODE):
        text = code.sub(lambda match: "\n" * match[0].count("\n"), text)
    return enumerate(text.splitlines(), 1)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """String literals that are no docstrings, with their lines. Errors, verdicts and feedback are among them."""
    for node in nodes(path):
        if isinstance(node, ast.Expr):
            continue
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Constant) and isinstance(child.value, str):
                yield child.lineno, child.value


def variables(path: Path) -> Iterator[tuple[int, str]]:
    """Names that are assigned, and names of parameters, with their lines."""
    for node in nodes(path):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def offenders(word_lists: Iterator[tuple[Path, int, list[str]]]) -> list[str]:
    """One line per place with words that its file may not use."""
    places = []
    for path, line, words in word_lists:
        name = str(path.relative_to(ROOT))
        if bad := sorted({*words} - ALLOWED.get(name, set())):
            places.append(f"{name}:{line}: {', '.join(bad)}")
    return places


def test_prose_names_who_acts():
    places = (
        (path, line, [word.lower() for word in OLD_WORDS.findall(text)])
        for path in files()
        for line, text in prose(path)
    )
    assert offenders(places) == []


def test_prose_of_pages_names_who_acts():
    places = (
        (path, line, [word.lower() for word in OLD_WORDS.findall(text)])
        for path in pages()
        for line, text in page_prose(path.read_text())
    )
    assert offenders(places) == []


def test_prose_of_tests_names_who_acts():
    places = (
        (path, line, [word.lower() for word in OLD_WORDS.findall(text)])
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for line, text in prose(path)
    )
    assert offenders(places) == []


def test_texts_name_who_acts():
    paths = [path for path in files() if not str(path.relative_to(ROOT)).startswith(CONTENT)]
    places = (
        (path, line, [word.lower() for word in OLD_WORDS.findall(text)]) for path in paths for line, text in texts(path)
    )
    assert offenders(places) == []


def test_scripts_and_templates_name_who_acts():
    paths = [path for name in PACKAGES for kind in ("*.js", "*.jinja") for path in sorted((ROOT / name).rglob(kind))]
    places = (
        (path, line, [word.lower() for word in OLD_WORDS.findall(text)])
        for path in paths
        for line, text in enumerate(path.read_text().splitlines(), 1)
    )
    assert paths
    assert offenders(places) == []


def test_variables_are_nouns():
    places = ((path, line, [name] if name in NO_NOUNS else []) for path in files() for line, name in variables(path))
    assert offenders(places) == []


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("# Nobody waits\n", ["Nobody"]),
        ('x = 1\n"""Whoever asks."""\n', ["Whoever"]),
        ('def f():\n    """A room of the house."""\n', ["room", "the house"]),
        ('text = "Nobody waits"  # data is not prose\n', []),
        ("mushroom = 1  # mushrooms\n", []),
    ],
)
def test_old_words_are_found_in_prose_and_not_in_data(tmp_path, code, words):
    (tmp_path / "code.py").write_text(code)
    assert [word for _, text in prose(tmp_path / "code.py") for word in OLD_WORDS.findall(text)] == words


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ('raise ValueError("nobody looked")\n', ["nobody"]),
        ('f(f"{x}: nobody looked")\n', ["nobody"]),
        ('"""Nobody waits."""\n', []),  # prose, which another test reads
    ],
)
def test_old_words_are_found_in_texts_and_not_in_docstrings(tmp_path, code, words):
    (tmp_path / "code.py").write_text(code)
    assert [word for _, text in texts(tmp_path / "code.py") for word in OLD_WORDS.findall(text)] == words


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("One line.\nA page in [no room](rooms.md).\n", [(2, "room"), (2, "rooms")]),
        ("`room` and ``a `room` `` are code, a room is not.\n", [(1, "room")]),
        ("A span `of\ntwo` lines, nobody reads.\n", [(2, "nobody")]),
        ("A lone ` of a paragraph.\n\nA room of a `key`.\n", [(3, "room")]),
        ("- List:\n\n  ```bash\n  mend # a room\n  ```\n\n  Whoever.\n", [(7, "Whoever")]),
    ],
)
def test_old_words_are_found_in_pages_and_not_in_their_code(page, words):
    assert [(line, word) for line, text in page_prose(page) for word in OLD_WORDS.findall(text)] == words
