"""Rollouts that are killed with SIGKILL and run again repeat no finished episode and lose none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from components.journal import Journal
from components.records import Trajectory
from tests.rollout.collect_child import TASKS


def start(tmp_path: Path) -> subprocess.Popen:
    command = [
        sys.executable,
        "-m",
        "tests.rollout.collect_child",
        str(tmp_path / "journal.jsonl"),
        str(tmp_path / "log"),
    ]
    return subprocess.Popen(command, start_new_session=True)


def finished(tmp_path: Path) -> list[str]:
    """Return the ids in the journal as a run after the crash reads them."""
    with Journal(tmp_path / "journal.jsonl", Trajectory) as journal:
        return [trajectory.trajectory_id for trajectory in journal.records]


def started(tmp_path: Path) -> list[str]:
    log = tmp_path / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    return [line.split()[1] for line in lines if line.startswith("start ")]


def kill_after(tmp_path: Path, episodes: int) -> None:
    """Start a run and kill it, browsers and all, once the journal holds this many episodes."""
    child = start(tmp_path)
    deadline = time.monotonic() + 120
    lines = 0
    with (tmp_path / "journal.jsonl").open("ab+") as journal:
        journal.seek(0)
        while (lines := lines + journal.read().count(b"\n")) < episodes:
            assert child.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.005)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


@pytest.mark.slow
def test_no_finished_episode_is_repeated_and_none_is_lost(tmp_path):
    kept: set[str] = set()
    for episodes in (5, 13, 23):
        before = len(started(tmp_path))
        kill_after(tmp_path, episodes)
        assert not kept & set(started(tmp_path)[before:]), "a finished episode was run again"
        now = set(finished(tmp_path))
        assert kept <= now, "a finished episode was lost"
        kept = now
    before = len(started(tmp_path))
    child = start(tmp_path)
    assert child.wait(timeout=200) == 0
    assert not kept & set(started(tmp_path)[before:])
    results = [line.split() for line in (tmp_path / "log").read_text().splitlines() if line.startswith("result ")]
    assert len({identity for _, identity, _ in results}) == len(results) == 2 * len(TASKS)
    assert len(finished(tmp_path)) == 2 * len(TASKS)
    assert all(float(reward) == 1.0 for _, _, reward in results)
