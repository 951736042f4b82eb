"""`waymark judge review open`: which trajectories people are asked about."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.cli import judge_review
from components.cli.main import main
from tests.formats.samples import webvoyager_task
from tests.samples import shipped


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an episode that lacks a screenshot."""
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    (webvoyager_task(Path("results"), "A--1", "Blind.") / "screenshot2.png").unlink()
    return Path("results")


def test_an_episode_without_a_screenshot_is_no_question_to_people(results, capsys):
    """The question says that they must believe the screenshots."""
    webvoyager_task(results, "A--2", "Whole.")
    (whole,) = judge_review._trajectories(results, 50, None)
    assert whole.task.intent == "Whole."
    assert "results/taskA--1/interact_messages.json is left out: " in capsys.readouterr().err


def test_a_folder_of_such_episodes_is_refused(results, capsys):
    assert main(["judge", "review", "open", "results", "--name", "first"]) == 1
    assert "no trajectory that an agent ended, and 1 without a screenshot (the first: " in capsys.readouterr().err
