"""RL's own seeds: one decides which tasks are drawn, the other the attempts at them."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.agent import EpisodeSpec
from components.records import Termination
from tests.training import rl_without_pages

Draws = tuple[list[str], list[int]]


def draws(monkeypatch: pytest.MonkeyPatch, state: Path, **seeds: int) -> Draws:
    """The tasks in the order in which RL attempts them, and the seeds of the attempts."""
    specs: list[EpisodeSpec] = []

    def noted(spec: EpisodeSpec) -> Termination:
        specs.append(spec)
        return Termination.DONE

    rl_without_pages.train(monkeypatch, state, 2, ends=noted, keys=seeds)
    return [spec.task.task_id for spec in specs], [spec.seed for spec in specs]


def test_one_seed_draws_the_tasks_and_another_the_attempts(tmp_path, monkeypatch):
    tasks, attempts = draws(monkeypatch, tmp_path / "recipe/s")
    same = draws(monkeypatch, tmp_path / "named/s", task_seed=0, sampling_seed=0)
    other_attempts = draws(monkeypatch, tmp_path / "attempts/s", sampling_seed=5)
    other_tasks = draws(monkeypatch, tmp_path / "tasks/s", task_seed=5)
    assert same == (tasks, attempts)
    assert other_attempts[0] == tasks
    assert not set(other_attempts[1]) & set(attempts)
    assert other_tasks[0] != tasks
