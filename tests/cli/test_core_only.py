"""An installation of the core alone: without the extras, a command names the package that it needs and the fix."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIX = "pip install 'waymark[env]'"


def waymark(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.core_only", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)


def test_the_doctor_shows_its_table_and_names_the_missing_package() -> None:
    done = waymark("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    rows = {name: row for row in done.stdout.splitlines() for name in ("chromium", "headless shell") if name in row}
    assert all("the package playwright is not installed" in row and FIX in row for row in rows.values())
    assert len(rows) == 2
    assert f"worlds 'miniwob' needs the package playwright: {FIX}" in done.stdout
    assert "disk" in done.stdout, "the rows after those that failed"


def test_the_doctor_installs_no_chromium_that_nothing_can_drive() -> None:
    done = waymark("doctor", "--fix")
    assert done.returncode == 1
    assert done.stderr == f"the package playwright is not installed, which drives Chromium: type `{FIX}`\n"


@pytest.mark.parametrize("command", [("validate", "demo"), ("params", "demo"), ("world", "check", "miniwob")])
def test_a_world_whose_package_is_missing_is_refused_with_the_fix(command: tuple[str, ...]) -> None:
    done = waymark(*command)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.endswith(f"worlds 'miniwob' needs the package playwright: {FIX}")


@pytest.mark.parametrize(
    "command, package, extra",
    [
        (("run", "press ok", "--url", "http://localhost:1/"), "playwright", "env"),
        (("world", "new", "mine"), "playwright", "env"),
        (("evaluate", "webarena-lite-165"), "torch", "train"),
        (("serve", "demo"), "torch", "train"),
    ],
)
def test_a_command_whose_package_is_missing_names_it(command: tuple[str, ...], package: str, extra: str) -> None:
    done = waymark(*command)
    assert (done.returncode, done.stderr) == (
        1,
        f"this command needs the package {package}: pip install 'waymark[{extra}]'\n",
    )
