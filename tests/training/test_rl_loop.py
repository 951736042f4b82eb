"""What takes long in RL runs in threads, so that rollouts under way and servers do not wait for it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from components.training import phase_validation, rl
from components.training.checkpoints import Checkpoints
from components.training.learner import Learner
from tests.training import rl_without_pages
from tests.vlm import random_vlm

BEAT_S = 0.005
PATIENCE_S = 3.0


class Heart:
    """Beats in the event loop, and tells of functions whether it beat while they ran."""

    def __init__(self) -> None:
        self.beats = 0
        self.stopped_by: list[str] = []
        self.heard: set[str] = set()

    async def beat(self) -> None:
        while True:
            self.beats += 1
            await asyncio.sleep(BEAT_S)

    def watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which first waits for the next beat, as if it took so long."""

        def slow(*args: object, **kwargs: object) -> Any:
            before, deadline = self.beats, time.monotonic() + PATIENCE_S
            while self.beats == before and time.monotonic() < deadline:
                time.sleep(BEAT_S)
            (self.heard.add if self.beats > before else self.stopped_by.append)(name)
            return function(*args, **kwargs)

        return slow


@pytest.mark.slow
def test_the_event_loop_goes_on_during_checkpoints_kl_and_reports(tmp_path, monkeypatch):
    random_vlm().save(tmp_path / "sft")
    quiet, weights = rl_without_pages.train(monkeypatch, tmp_path / "quiet/s", 2, validate=1, sft=tmp_path / "sft")
    heart = Heart()
    for owner, name in (
        (Learner, "save"),
        (Learner, "load"),
        (phase_validation, "kl_by_family"),
        (Checkpoints, "prune"),
    ):
        monkeypatch.setattr(owner, name, heart.watched(name, getattr(owner, name)))
    report = heart.watched("report", lambda *values: None)
    options = {"validate": 1, "sft": tmp_path / "sft", "report": report, "beside": heart.beat}
    for iterations in (1, 2):  # the second run loads the checkpoint of the first
        trained, others = rl_without_pages.train(monkeypatch, tmp_path / "heard/s", iterations, **options)
    assert heart.stopped_by == []
    assert heart.heard == {"save", "load", "kl_by_family", "prune", "report"}
    figures = [[row["kl_sft"] for row in phase.figures] for phase in (quiet, trained)]
    assert figures[0] == figures[1]
    assert all(torch.equal(weights[name], others[name]) for name in weights)


def test_all_work_with_the_learners_runs_in_one_thread(tmp_path, monkeypatch):
    """The number of threads with which PyTorch sums belongs to the thread that calls it."""
    random_vlm().save(tmp_path / "sft")
    threads: dict[str, set[int]] = {}

    def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def note(*args: object, **kwargs: object) -> Any:
            threads.setdefault(name, set()).add(threading.get_ident())
            return function(*args, **kwargs)

        return note

    for owner, name in ((Learner, "update"), (Learner, "save"), (phase_validation, "kl_by_family")):
        monkeypatch.setattr(owner, name, noted(name, getattr(owner, name)))
    rl_without_pages.train(monkeypatch, tmp_path / "s", 2, validate=1, sft=tmp_path / "sft")
    assert threads.keys() == {"update", "save", "kl_by_family"}
    (thread,) = set.union(*threads.values())
    assert thread != threading.get_ident()


def test_figures_of_numpy_leave_checkpoints_readable(tmp_path, monkeypatch):
    """An objective may return them; a checkpoint with one could not be loaded again."""
    figures = rl.rollout_figures
    monkeypatch.setattr(rl, "rollout_figures", lambda *given: {**figures(*given), "own": np.float64(0.5)})
    first, _ = rl_without_pages.train(monkeypatch, tmp_path, 2)
    assert {type(value) for value in first.figures[0].values()} == {float}
    again, _ = rl_without_pages.train(monkeypatch, tmp_path, 2)
    assert again.figures == first.figures
