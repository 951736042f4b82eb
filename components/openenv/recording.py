"""Keeps the episodes of a server as trajectories, which Waymark can view, judge and train on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from components.journal import Journal
from components.records import Trajectory
from components.store import write_table

JOURNAL, TABLE = "episodes.jsonl", "trajectories.parquet"


@contextmanager
def recording(folder: Path) -> Iterator[Journal[Trajectory]]:
    """A journal in a folder, whose episodes are written as a table at the end. It has the episodes of an earlier server
    that recorded there, too.

    Raises:
        ValueError: the journal is damaged.
        BlockingIOError: another server records there.
    """
    with Journal(folder / JOURNAL, Trajectory, in_memory=False) as journal:
        try:
            yield journal
        finally:
            if journal.records:
                write_table(folder / TABLE, Trajectory, journal.records)
