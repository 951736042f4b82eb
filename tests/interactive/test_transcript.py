"""What the terminal shows of a run."""

from __future__ import annotations

import pytest

from components.interactive.transcript import Transcript
from components.records import Task, Termination, Trajectory

ADDRESS = "http://dana:harbour@shop.test:8080/"


def test_the_terminal_shows_no_password_of_an_address(capsys: pytest.CaptureFixture[str]) -> None:
    transcript = Transcript(colour=False)
    transcript.note(f"Opening {ADDRESS} …")
    task = Task(task_id="a", intent="Look", start_url=ADDRESS, website="shop.test", source="run")
    ended = Trajectory(
        trajectory_id="a-0",
        attempt=0,
        seed=0,
        task=task,
        turns=[],
        termination=Termination.ENV_ERROR,
        policy="p",
        protocol="default",
        diagnostics={"error": f"cannot open {ADDRESS}"},
    )
    transcript.end(ended, "The page failed.")
    out = capsys.readouterr().out
    assert "Opening http://dana:***@shop.test:8080/ …" in out
    assert "cannot open http://dana:***@shop.test:8080/" in out
    assert "harbour" not in out
