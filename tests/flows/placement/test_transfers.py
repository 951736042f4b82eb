"""Transfers of a pipeline to its store, which may run at the same time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from flows.crash_safe_dvc import LOGS, InfrastructureFailed
from flows.placement import handover


def test_a_failed_transfer_shows_its_own_output(tmp_path: Path) -> None:
    started = tmp_path / "started"
    slow = f"touch {started}; sleep 0.5; echo no space left in the bucket; exit 1"
    reasons: list[str] = []

    def fail() -> None:
        with pytest.raises(InfrastructureFailed) as failure:
            handover._call(["sh", "-c", slow], "push-collect_tasks", tmp_path)
        reasons.append(str(failure.value))

    failing = threading.Thread(target=fail)
    failing.start()
    while not started.exists():
        failing.join(0.01)
    handover._call(["sh", "-c", "echo output of another stage"], "push-collect_tasks", tmp_path)
    failing.join()
    assert "no space left in the bucket" in reasons[0]
    assert "another stage" not in reasons[0]
    assert [log.name[:19] for log in (tmp_path / LOGS).glob("*.log")] == ["push-collect_tasks-"]
