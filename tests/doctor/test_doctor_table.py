"""The table of all checks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from components.doctor import Check, examine, recipe, show

ROOT = Path(__file__).resolve().parents[2]
CITY = ROOT / "recipes/city-demo.yaml"


@pytest.mark.slow
def test_outside_its_repository_the_doctor_exits_with_1_and_the_reason(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "components.cli.main", "doctor"]
    done = subprocess.run(command, cwd=tmp_path, env=_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "missing" in done.stdout
    assert "params.yaml" in done.stdout


def test_in_a_complete_checkout_nothing_required_is_missing(tmp_path: Path) -> None:
    for name in (".dvc/config", "requirements/cpu.txt", "params.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    base = tmp_path / "data/base_model"
    base.mkdir(parents=True)
    (base / "config.json").write_text("{}")
    (base / "model.safetensors").touch()
    missing = [one for one in examine(tmp_path) if one.required and not one.ok]
    assert missing == []


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_a_command_is_shown_with_its_brackets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    fix = "type `pip install -e '.[encyclopaedia]'`"
    assert show([Check("kiwix", False, "not here: [/x] [red]", fix)]) == 1
    shown = capsys.readouterr().out
    assert fix in shown
    assert "not here: [/x] [red]" in shown


def test_the_doctor_checks_the_recipe_that_it_is_given(tmp_path: Path) -> None:
    checks = {check.name: check for check in examine(tmp_path, named=CITY)}
    assert checks["city-demo.yaml"].ok
    assert checks["base model"].finding == "no data/city_base_model"
    wrong = recipe.recipe(tmp_path / "none.yaml")
    assert (wrong.ok, wrong.fix.startswith("`waymark validate")) == (False, True)
