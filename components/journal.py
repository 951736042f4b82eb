"""The append-only journal of a stage: what it has finished survives a crash.

A stage appends each finished item to a journal outside of its DVC outputs, with fsync, and publishes its outputs by
rename when it is done (`components.store`). If it is killed, at most the item in flight is lost. Run again with the
same inputs, it continues from the journal.

Accepted trade-offs: a journal holds images as base64, which takes a third more space than the Parquet file that
replaces it. Old journals are kept until `waymark clean`.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Generic, TypeVar

from typing_extensions import override

from components.lazy_records import LazyRecords
from components.records import Record
from components.store import sync

R = TypeVar("R", bound=Record)

FINAL = b'{"final":true}\n'
"""The line of a journal that makes the records before it final."""


class Journal(Generic[R]):
    """An append-only file of records, one JSON line each, fsynced on append.

    An incomplete last line (the process died while writing) is dropped when the journal is opened. A damaged line
    before it is an error, because only another program can have written it. One process at a time may open a journal: a
    stage that outlived a killed `dvc repro` must not share it with the next run.

    Args:
        in_memory: whether the records stay in memory. If not, `records` reads each from the file when it is accessed,
            as a stage with more trajectories than fit into memory must.

    Attributes:
        records: the records, in order.
        final: how many of the first records `mark_final` made final.

    Raises:
        ValueError: a line is damaged.
        BlockingIOError: another process has opened the journal.
    """

    def __init__(self, path: Path, kind: type[R], in_memory: bool = True) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.kind = kind
        self._kept: list[R] | None = [] if in_memory else None
        self._lines: list[tuple[int, int]] = []
        self.records: Sequence[R] = _Lines(path, kind, self._lines) if self._kept is None else self._kept
        self.final = 0
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._end = self._load()
        except BlockingIOError as error:
            os.close(self._file)
            message = "another process is writing this journal; wait for it, or stop the stage that an earlier run left"
            raise BlockingIOError(error.errno, message, str(path)) from error
        except ValueError:
            os.close(self._file)
            raise
        os.ftruncate(self._file, self._end)
        sync(path.parent)

    def _load(self) -> int:
        """Read the records. Returns the length of the undamaged part in bytes."""
        valid = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                begin, valid = valid, valid + len(line)
                if line == FINAL:
                    self.final = len(self._lines)
                    continue
                try:
                    record = self.kind.model_validate_json(line)
                except ValueError as error:
                    message = f"{self.path}:{number}: damaged journal line; move the file away to start over"
                    raise ValueError(message) from error
                self._add(record, begin, len(line))
        return valid

    def _add(self, record: R, begin: int, length: int) -> None:
        self._lines.append((begin, length))
        if self._kept is not None:
            self._kept.append(record)

    def append(self, record: R) -> None:
        """Add a record. Once this returns, the record survives a crash."""
        line = record.model_dump_json().encode() + b"\n"
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError:  # a full disk: an incomplete line must not stay before the next append
            os.ftruncate(self._file, self._end)
            raise
        self._add(record, self._end, len(line))
        self._end += len(line)

    def close(self) -> None:
        """Close the file and release its lock."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def __enter__(self) -> Journal[R]:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Lines(LazyRecords[R]):
    """The records of a journal's lines, read from the file when accessed, also once the journal is closed.

    Args:
        lines: the first byte and the length of each, which the journal goes on to append to.
    """

    def __init__(self, path: Path, kind: type[R], lines: list[tuple[int, int]]) -> None:
        self._path = path
        self._kind = kind
        self._lines = lines

    @override
    def __len__(self) -> int:
        return len(self._lines)

    @override
    def read(self, place: int) -> R:
        begin, length = self._lines[place]
        with self._path.open("rb") as file:
            file.seek(begin)
            return self._kind.model_validate_json(file.read(length))


def mark_final(path: Path) -> None:
    """Make all records of a closed journal final: a later run replaces none of them. Once this returns, the mark
    survives a crash. It does not read the records, which may be large."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, FINAL)
        os.fsync(file)
    finally:
        os.close(file)
