"""What stages keep between runs is removed, unless one of them is running."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from components.pipeline.stage_run import StageBusy
from components.pipeline.state_removal import remove_state
from components.store import state_dir


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty project."""
    monkeypatch.chdir(tmp_path)


def test_states_progress_and_logs_are_removed_and_nothing_else() -> None:
    files = ["state/train_rl/key/journal.jsonl", "progress/train_rl.json", "logs/train_rl.log", "dvc.lock.good"]
    for path in (Path(".waymark") / name for name in files):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert remove_state() == [Path(".waymark/state"), Path(".waymark/progress"), Path(".waymark/logs")]
    assert [path.name for path in Path(".waymark").iterdir()] == ["dvc.lock.good"]
    assert remove_state() == []


def test_a_running_stage_keeps_the_state_of_all() -> None:
    finished, running = state_dir("train_sft", "key"), state_dir("train_rl@short", "key")
    (finished / "lock").touch()
    with (running / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StageBusy, match=r"^train_rl@short is running \(its state is "):
            remove_state()
    assert finished.exists()
    assert running.exists()
