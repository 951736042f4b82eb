"""A built-in kind whose package is not installed is told from a bug in its imports."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest

from components import plugins


def failing(name: str) -> Callable[[str], object]:
    def import_module(path: str) -> object:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    return import_module


def test_a_missing_package_of_a_built_in_kind_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "miniwob" in plugins.builtin("worlds")
    monkeypatch.setattr(importlib, "import_module", failing("playwright"))
    with pytest.raises(plugins.UnknownKindError, match=r"^worlds 'miniwob' needs the package playwright: pip install"):
        plugins.find("worlds", "miniwob")


@pytest.mark.parametrize("name", ["components.worlds.miniwob.nothing", "components", "flows", "playwright.nothing"])
def test_a_bug_in_an_import_of_ours_stays_visible(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "miniwob" in plugins.builtin("worlds")
    monkeypatch.setattr(importlib, "import_module", failing(name))
    with pytest.raises(ModuleNotFoundError):
        plugins.find("worlds", "miniwob")


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("playwright", "pip install 'waymark[env]'"),
        ("great_expectations", "pip install 'waymark[pipeline]'"),
        ("no_such_package", "pip install no_such_package"),
    ],
)
def test_a_package_is_installed_with_the_extra_that_has_it(package: str, command: str) -> None:
    assert plugins.install_command(package) == command
