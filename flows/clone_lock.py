"""One pipeline at a time runs in a clone: it holds a lock there, which the kernel releases when its process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.crash_safe_dvc import StageFailed

LOCK = Path(".waymark/pipeline.lock")


class CloneInUse(StageFailed):
    """Another process works in the clone. The message names it and says what to do."""


@contextmanager
def only_pipeline(root: Path) -> Iterator[None]:
    """Hold the lock of a clone. Processes that are started meanwhile do not inherit it.

    Raises:
        CloneInUse: another pipeline, or an evaluation that Prefect started, holds it.
    """
    path = root / LOCK
    path.parent.mkdir(exist_ok=True)
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CloneInUse(
                f"another pipeline or evaluation runs in {root.resolve()}: wait for it or end it"
            ) from error
        yield
    finally:
        os.close(lock)
