"""Sequences of records that stay on disk: each record is read when it is accessed.

The trajectories of a large stage do not fit into memory: 62,404 attempts of a teacher at ten screenshots each are about
100 GB. Every access reads and parses the record again, so go through such a sequence once, in order, and keep what is
needed of each record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar, overload

import pyarrow.parquet as pq
from typing_extensions import override

from components.records import Record
from components.store import records_of_group

R = TypeVar("R", bound=Record)


class LazyRecords(Sequence[R], ABC):
    """A sequence that reads each record when it is accessed. A slice of it is lazy, too."""

    @abstractmethod
    def read(self, place: int) -> R:
        """The record at a place from 0 to the length minus 1."""

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Selection[R]: ...
    @override
    def __getitem__(self, index: int | slice) -> R | Selection[R]:
        if isinstance(index, slice):
            return Selection(self, range(len(self))[index])
        return self.read(range(len(self))[index])


class Selection(LazyRecords[R]):
    """Some records of another sequence, which reads them.

    Args:
        places: their indices there, in the order of this sequence.
    """

    def __init__(self, records: Sequence[R], places: Sequence[int]) -> None:
        self._records = records
        self._places = places

    @override
    def __len__(self) -> int:
        return len(self._places)

    @override
    def read(self, place: int) -> R:
        return self._records[self._places[place]]


class Chain(LazyRecords[R]):
    """The records of some sequences, one sequence after the other."""

    def __init__(self, *parts: Sequence[R]) -> None:
        self._places = [(part, index) for part in parts for index in range(len(part))]

    @override
    def __len__(self) -> int:
        return len(self._places)

    @override
    def read(self, place: int) -> R:
        part, index = self._places[place]
        return part[index]


class TableRecords(LazyRecords[R]):
    """The records of a Parquet table. One row group is in memory, so neighbours are read together.

    Raises:
        FileNotFoundError: there is no such table.
    """

    def __init__(self, path: Path, kind: type[R]) -> None:
        self._path, self._kind = path, kind
        with pq.ParquetFile(path) as file:
            groups = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        self._places = [(group, row) for group, rows in enumerate(groups) for row in range(rows)]
        self._group: int | None = None
        self._rows: list[R] = []

    @override
    def __len__(self) -> int:
        return len(self._places)

    @override
    def read(self, place: int) -> R:
        group, row = self._places[place]
        if group != self._group:
            self._group, self._rows = None, []  # frees the last group before the next one is read
            self._rows, self._group = records_of_group(self._path, self._kind, group), group
        return self._rows[row]


def where(records: Sequence[R], is_wanted: Callable[[R], bool]) -> Selection[R]:
    """The records of which something holds. Each is read once for it."""
    return Selection(records, [place for place, record in enumerate(records) if is_wanted(record)])


def read_in_order(records: Sequence[R], places: Sequence[int]) -> list[R]:
    """The records at these places, in the order of `places`, read in the order of the file."""
    read = {place: records[place] for place in sorted(set(places))}
    return [read[place] for place in places]
