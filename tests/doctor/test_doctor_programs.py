"""The doctor finds Chromium and the programs of worlds, or says how to get them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from components.doctor import programs
from components.params import complete

ROOT = Path(__file__).resolve().parents[2]


def test_chromium_is_found_with_its_version() -> None:
    check = programs.chromium()
    assert check.ok, check
    assert re.search(r"\d+\.\d+\.\d+", check.finding)


def test_a_named_chromium_that_does_not_start_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setenv("WAYMARK_CHROMIUM", str(broken))
    check = programs.chromium()
    assert not check.ok
    assert check.fix


def test_a_chromium_without_fonts_is_a_failure(no_fonts: None) -> None:
    check = programs.chromium()
    assert not check.ok
    assert "fonts-dejavu-core" in check.finding


def test_kiwix_is_required_only_where_the_recipe_is_on_the_encyclopaedia(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for recipe, required in (("demo", False), ("browseragent-demo", True)):
        (tmp_path / "params.yaml").write_text(complete(ROOT / f"recipes/{recipe}.yaml"))
        check = next(one for one in programs.world_programs(tmp_path / "params.yaml") if one.name == "kiwix")
        assert (check.ok, check.required) == (False, required)
        assert "apt-get install" in check.fix
