"""Lists of benchmarks, studies and public sets: a wrong file takes one line; without any file the command fails."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from components.cli import main

BENCHMARKS = Path(__file__).resolve().parents[2] / "recipes/benchmarks"


def status(*arguments: str) -> int | str | None:
    try:
        return main.main([*arguments])
    except SystemExit as ended:
        return ended.code


def test_a_wrong_benchmark_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "recipes/benchmarks"
    folder.mkdir(parents=True)
    shutil.copy(BENCHMARKS / "webvoyager-595.yaml", folder)
    (folder / "a-wrong-one.yaml").write_text("name: [")
    assert status("evaluate", "--list") == 0
    wrong, right = capsys.readouterr().out.splitlines()
    assert wrong.startswith("a-wrong-one              cannot be read: recipes/benchmarks/a-wrong-one.yaml: not YAML")
    assert right.startswith("webvoyager-595           WebVoyager, Fara's revision")


@pytest.mark.parametrize("command", [("evaluate", "--list"), ("study", "--list"), ("tasks", "sets")])
def test_a_list_outside_of_a_checkout_says_where_to_go(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status(*command) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith(": go to the folder of your checkout of Waymark first\n")
