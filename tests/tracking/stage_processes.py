"""What the processes of the tracking tests do. Each function runs in a process of its own, in the test's directory."""

from __future__ import annotations

import time
from multiprocessing.connection import Connection
from pathlib import Path

from components.tracking import stage_run
from tests.samples import recipe

STATE = Path(".waymark/state/train_rl@short/key")


def train(stop: int, logged: Connection) -> None:
    """Log six iterations, resuming after those that are done. At iteration `stop`, report it and wait for a kill."""
    done = STATE / "iterations"
    with stage_run(recipe(), "train_rl@short", "key", STATE) as run:
        first = int(done.read_text()) if done.exists() else 0
        for iteration in range(first, 6):
            run.metrics({"reward_mean": iteration / 4}, step=iteration)
            if iteration == stop:
                logged.send(iteration)
                time.sleep(600)
            done.write_text(str(iteration + 1))


def log_points(name: str) -> None:
    """Log 30 points as a stage of this name."""
    with stage_run(recipe(), name, name, Path(name)) as run:
        for step in range(30):
            run.metrics({"loss": step, "gap": 0.5}, step=step)


def register(name: str, version: Connection) -> None:
    """Register `models/sft` as a stage of this name and send its version."""
    with stage_run(recipe(), name, name, Path(name)) as run:
        version.send(run.register(Path("models/sft"), "waymark-policy"))
