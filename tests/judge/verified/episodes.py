"""Episodes on rows of webarena-verified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from components.judge.verified.rule import HAR
from components.records import Ending, Reading, Task, Trajectory
from tests.samples import a_trajectory

ROOT = Path(__file__).parents[3]


def episode(task: Task, answer: str | None, entries: list[dict[str, Any]] | None) -> Trajectory:
    """An episode that ended with `done`; `entries` are those of its HAR, None if there is none."""
    readings = [] if entries is None else [Reading(url=HAR, locator="", address="", text=json.dumps(entries))]
    ending = Ending(url=task.start_url, readings=readings)
    return a_trajectory(task).model_copy(update={"answer": answer, "ending": ending})
