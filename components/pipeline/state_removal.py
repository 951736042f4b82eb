"""Removes what stages keep between runs: journals, checkpoints, progress files and logs. Outputs of stages stay."""

from __future__ import annotations

import shutil
from pathlib import Path

from components import store
from components.pipeline.stage_run import StageBusy

KEPT = ("state", "progress", "logs")
"""The folders of `store.STATE` that are removed."""


def remove_state() -> list[Path]:
    """Remove the state of all stages, unfinished ones too; returns the removed folders.

    Raises:
        StageBusy: a stage is running; nothing was removed.
    """
    for lock in sorted((store.STATE / "state").glob("*/*/lock")):
        if store.is_locked(lock):
            state = lock.parent
            raise StageBusy(f"{state.parent.name} is running (its state is {state}): wait until it ends, or end it")
    removed = [folder for folder in (store.STATE / name for name in KEPT) if folder.exists()]
    for folder in removed:
        shutil.rmtree(folder)
    return removed
