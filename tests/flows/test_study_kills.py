"""What a killed study leaves: lines that were cut, and copies of files that the project has no longer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from flows.study import append
from flows.study_folders import Checkout, folder_of, prepare
from tests.flows.test_study_runner import make_project, study_of


def test_an_event_after_a_line_that_a_kill_has_cut_is_kept(tmp_path):
    path = tmp_path / "events.jsonl"
    append(path, {"stage": "first"})
    with path.open("a") as file:
        file.write('{"stage": "cu')
    append(path, {"stage": "second"})
    append(path, {"stage": "third"})
    assert [json.loads(line)["stage"] for line in path.read_text().splitlines() if line.endswith("}")] == [
        "first", "second", "third",
    ]  # fmt: skip


def test_a_killed_preparation_leaves_no_removed_file(tmp_path, monkeypatch):
    make_project(tmp_path)
    (tmp_path / "package").mkdir()
    for name in ("former.py", "present.py"):
        (tmp_path / "package" / name).touch()
    run = study_of({}, seeds=(0,)).runs[0]
    folder = folder_of(tmp_path, "mine", run.name)
    with monkeypatch.context() as patch:
        patch.setattr("flows.study_folders._copy", copy_until("present.py"))
        with pytest.raises(KeyboardInterrupt):
            prepare(Checkout.of(tmp_path), folder, run.params)
    (tmp_path / "package/former.py").unlink()
    prepare(Checkout.of(tmp_path), folder, run.params)
    assert sorted(path.name for path in (folder / "package").iterdir()) == ["present.py"]


def copy_until(name: str) -> Callable[[Path, Path], None]:
    """A copy that is killed at a file of this name."""

    def copy(source: Path, target: Path) -> None:
        if source.name == name:
            raise KeyboardInterrupt
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)

    return copy
