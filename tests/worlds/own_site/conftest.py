"""The package that `waymark world new` writes, importable; and pages on loopback in one browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.params import BrowserParams
from components.worlds import world_class
from components.worlds.own_site import OwnSite, image
from components.worlds.own_site.scaffold import write_package
from tests.browser.conftest import PARAMS, pages, visit  # noqa: F401


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The folder of the new package `notes`."""
    write_package("notes", tmp_path / "notes")
    return tmp_path / "notes"


@pytest.fixture
def world(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnSite:
    """The world of the new package, with a cache of its own."""
    monkeypatch.syspath_prepend(str(written))
    monkeypatch.delitem(__import__("sys").modules, "waymark_notes", raising=False)
    for function in (image.ensure, image.image_of):
        monkeypatch.setattr(function, "__defaults__", (tmp_path / "cache",))
    kind = world_class("waymark_notes:KIND")
    world = kind(kind.Params.model_validate({"train_per_template": 6, "eval_per_template": 2}))
    assert isinstance(world, OwnSite)
    return world


@pytest.fixture(scope="module")
def visit_params() -> BrowserParams:
    """Pages on loopback are quiet soon."""
    return PARAMS.model_copy(update={"quiet_ms": 60, "settle_ms": 1500})
