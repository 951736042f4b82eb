"""The package that `waymark world new` writes, importable."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.worlds import world_class
from components.worlds.own_site import OwnSite, image
from components.worlds.own_site.scaffold import write_package


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
    monkeypatch.setattr(image.ensure, "__defaults__", (tmp_path / "cache",))
    kind = world_class("waymark_notes:KIND")
    world = kind(kind.Params.model_validate({"train_per_template": 6, "eval_per_template": 2}))
    assert isinstance(world, OwnSite)
    return world
