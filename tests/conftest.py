"""What all tests share: hypothesis's settings, and which tests are heavy."""

from __future__ import annotations

import gc
import inspect
import re
import shutil
from collections import Counter
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from hypothesis import settings

gc.disable()  # until all tests are collected: what is imported for them stays, as `components/imports.py` says
settings.register_profile("waymark", deadline=None)  # a loaded machine must not fail an example by its time
settings.load_profile("waymark")

TESTS = Path(__file__).parent
HEAVY = frozenset(
    """
    subprocess multiprocessing Popen create_subprocess_exec launch
    BrowserPool async_playwright sync_playwright find_chromium KiwixServer MiniWoB serve_forever start_server
    """.split()
)
"""Names of what starts a browser, a server or another process."""
SLOW = re.compile(r"slow|vllm|mark\.every")
"""The marks of what `make test` leaves out."""
SLOW_ONLY = ("slow or vllm", "slow and not vllm", "(slow or vllm) and not exhaustive", "exhaustive")
"""The Makefile's choices of marks without quick tests."""


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty MLflow database. MLflow takes seconds to make one."""
    from mlflow import MlflowClient

    path = tmp_path_factory.mktemp("mlflow") / "empty.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def mlflow_database(tmp_path: Path, migrated: Path) -> Path:
    """The tracking store of a checkout in `tmp_path`: a real SQLite database, migrated once for all tests."""
    path = tmp_path / "mlflow/store/mlflow.db"
    path.parent.mkdir(parents=True)
    shutil.copy(migrated, path)
    return path


@pytest.fixture
def no_fonts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are started find no font, as on a machine that has none."""
    nothing = tmp_path / "fonts.conf"
    nothing.write_text('<?xml version="1.0"?><fontconfig></fontconfig>')
    monkeypatch.setenv("FONTCONFIG_FILE", str(nothing))
    monkeypatch.setattr("components.browser.chromium._drew_text", set())


@pytest.fixture
def no_verified_evaluator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The evaluator of webarena-verified is not installed, and none runs from an earlier test."""
    from components.judge.verified import client

    monkeypatch.setattr(client, "ENVIRONMENT", tmp_path / "nowhere")
    monkeypatch.setattr(client, "_evaluator", lambda _: client.find_python())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where only slow tests are wanted, leave out files without any: importing them takes as long as all others.

    A slow test's mark, or the marker `every` that makes one, stands in its file or in a `conftest.py` of its folders.
    """
    if config.getoption("markexpr") not in SLOW_ONLY or collection_path.suffix != ".py":
        return None
    folders = [folder for folder in collection_path.parents if TESTS in folder.parents]
    files = [collection_path, *(folder / "conftest.py" for folder in folders)]
    return None if any(SLOW.search(path.read_text()) for path in files if path.exists()) else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark a test `heavy` if it, its fixtures or functions of `tests` that they use name something of `HEAVY`, and
    `slow` if it is a case that the marker `every` leaves to `make test-rest`.

    With --no-loadscope-reorder, the files whose tests may take longest run first, then those with most heavy tests: at
    the end of a run of several processes, one long file would leave all but one idle.
    """
    cases: Counter[tuple[Path, str]] = Counter()
    for item in items:
        if isinstance(item, pytest.Function):
            if (every := item.get_closest_marker("every")) is not None:
                function = item.path, item.originalname
                if cases[function] % every.args[0]:
                    item.add_marker(pytest.mark.slow)
                cases[function] += 1
            fixtures = [found.func for found in item._fixtureinfo.name2fixturedefs.values() for found in found]
            if any(is_heavy(function) for function in (item.function, *fixtures)):
                item.add_marker(pytest.mark.heavy)
    if config.getoption("loadscopereorder", True) is False:
        longest: dict[Path, float] = {}
        for item in items:
            longest[item.path] = max(longest.get(item.path, 0), time_limit(item))
        tests = Counter(item.path for item in items)
        heavy = Counter(item.path for item in items if item.get_closest_marker("heavy"))
        items.sort(key=lambda item: (-longest[item.path], -heavy[item.path], -tests[item.path]))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def time_limit(item: pytest.Item) -> float:
    """The seconds of a test's marker `timeout`; 0 without one."""
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0]) if marker else 0.0


def is_heavy(function: object) -> bool:
    """Whether a name of `HEAVY` is reached from a function through functions and classes of `tests`."""
    pending, seen = [inspect.unwrap(function)], set()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        for name in names(current.__code__):
            if name in HEAVY:
                return True
            value = current.__globals__.get(name)
            classes = value.__mro__ if inspect.isclass(value) else ()
            members = [value, *(member for owner in classes for member in vars(owner).values())]
            pending += [
                inspect.unwrap(member)
                for member in members
                if isinstance(member, FunctionType) and member.__module__.startswith("tests")
            ]
    return False


@cache
def names(code: CodeType) -> frozenset[str]:
    """Names of globals, modules and attributes in a code object and in those within it."""
    inner = (names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return frozenset(code.co_names).union(*inner)
