"""Reads our own trajectories: a `trajectories.parquet`, a folder with one, or JSON lines such as a stage's journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pydantic import ValidationError

from components.formats.files import problems
from components.formats.interface import Damaged, Format, ReadTrajectory, Unreadable
from components.formats.registry import register
from components.journal import FINAL
from components.records import Trajectory
from components.store import iter_rows

TABLE = "trajectories.parquet"


@register
class OwnTable(Format):
    """Tables that stages write, and journals that they leave when they are killed."""

    name: ClassVar[str] = "waymark"
    about: ClassVar[str] = f"our own tables, `{TABLE}` or `trajectories.jsonl`"

    def recognises(self, path: Path) -> bool:
        """By the file's name."""
        return path.suffix in (".parquet", ".jsonl") or (path / TABLE).is_file()

    def read(self, path: Path) -> Iterator[ReadTrajectory | Damaged]:
        """One trajectory per row, or per episode of JSON lines."""
        file = path / TABLE if path.is_dir() else path
        return _lines(file) if file.suffix == ".jsonl" else _rows(file)


def _rows(file: Path) -> Iterator[ReadTrajectory | Damaged]:
    try:
        for number, row in enumerate(iter_rows(file, Trajectory)):
            place = f"{file} row {number}"
            if isinstance(row, Trajectory):
                yield ReadTrajectory(place, row)
            else:
                yield Damaged(place, f"{place} is no trajectory ({_why(row)}): write the table again")
    except (pa.ArrowException, OSError) as error:
        raise Unreadable(
            f"{file} is not a Parquet file that can be read, or only a part of one ({_why(error)}): copy it again, or "
            "let its stage write it again"
        ) from error


def _lines(file: Path) -> Iterator[ReadTrajectory | Damaged]:
    """The last record of each episode, which is the one that counts (`rollout.collect`), and all damaged lines."""
    records = (record for record in _all_lines(file) if isinstance(record, ReadTrajectory))
    last = {record.trajectory.trajectory_id: record.place for record in records}
    for record in _all_lines(file):
        if isinstance(record, Damaged) or last.get(record.trajectory.trajectory_id) == record.place:
            yield record


def _all_lines(file: Path) -> Iterator[ReadTrajectory | Damaged]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line == FINAL or not line.strip():  # the mark of a journal, or an empty line
                continue
            place = f"{file}:{number}"
            try:
                yield ReadTrajectory(place, Trajectory.model_validate_json(line))
            except ValidationError as error:
                yield Damaged(place, f"{place}: is no trajectory ({_why(error)}): write the file again")


def _why(error: Exception) -> str:
    return problems(error) if isinstance(error, ValidationError) else str(error).splitlines()[0]
