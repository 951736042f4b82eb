"""Writes stored trajectories as a dataset: Parquet files in shards by split, and a card.

Trajectories are read one row group at a time and are never all in memory, because of their screenshots. The folder is
published by rename. Diagnostics, token ids and log-probabilities stay behind: they name machines, or mean nothing
without the model's tokenizer.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from components.export.card import Origin, card
from components.export.columns import EPISODES, TURNS, Column, Episode, episode_row, schema, turn_row
from components.records import Trajectory, Verdict
from components.store import iter_named_table, publish

SHARD_BYTES = 400_000_000
"""A shard is closed when its file has reached this size; the Hub advises less than 500 MB."""
GROUP_ROWS = 50
"""Rows per row group: the Hub's viewer reads whole groups, and a row has a screenshot."""


class ExportError(ValueError):
    """Nothing can be exported, or the folder must not be replaced; the message says what to do."""


@dataclass(frozen=True)
class Source:
    """A table of trajectories, with the `verdicts.parquet` of its folder if there is one."""

    table: Path
    name: str
    """In the column `origin` and on the card."""

    @classmethod
    def of(cls, tables: Sequence[Path]) -> list[Source]:
        """The tables with the names of their folders, below `evaluation` with the model's name; where two folders have
        one name, or the path names none, with their paths from the working directory."""
        names = [_folder_name(table) for table in tables]
        return [
            cls(table, name if name and names.count(name) == 1 else Path(os.path.relpath(table)).as_posix())
            for table, name in zip(tables, names, strict=True)
        ]

    def episodes(self) -> Iterator[Episode]:
        """The trajectories with their verdicts.

        Raises:
            UnreadableTable: a table is damaged.
        """
        beside = self.table.with_name("verdicts.parquet")
        verdicts = {row.trajectory_id: row for row in iter_named_table(beside, Verdict)} if beside.exists() else {}
        for trajectory in iter_named_table(self.table, Trajectory):
            yield Episode(trajectory, verdicts.get(trajectory.trajectory_id), self.name)


def _folder_name(table: Path) -> str:
    folder = table.parent
    return f"{folder.parent.name}-{folder.name}" if folder.parent.name == "evaluation" else folder.name


@dataclass
class Counts:
    """What an export has, for the card."""

    episodes: Counter[str] = field(default_factory=Counter)
    """By split."""
    turns: Counter[str] = field(default_factory=Counter)
    """By split."""
    successes: defaultdict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By table and policy: the numbers of `success`, `failure` and `unknown`."""
    terminations: Counter[str] = field(default_factory=Counter)
    worlds: Counter[str] = field(default_factory=Counter)
    protocols: Counter[str] = field(default_factory=Counter)

    def add(self, episode: Episode) -> None:
        """Count an episode."""
        trajectory = episode.trajectory
        split = trajectory.task.split
        self.episodes[split] += 1
        self.turns[split] += len(trajectory.turns)
        outcome = {True: "success", False: "failure", None: "unknown"}[episode.success]
        self.successes[episode.origin, trajectory.policy][outcome] += 1
        self.terminations[trajectory.termination.value] += 1
        self.worlds[trajectory.task.source] += 1
        self.protocols[trajectory.protocol] += 1


def export(
    sources: Iterable[Source],
    out: Path,
    origin: Origin,
    clean: Callable[[str], str],
    keep: Callable[[Episode], bool] = lambda episode: True,
) -> Counts:
    """Write the dataset to a new folder.

    Args:
        origin: what the card says of the dataset's making.
        clean: removes secrets from a text (`components.redaction`).
        keep: which episodes are exported.

    Raises:
        ExportError: the folder exists and is not empty, two tables hold the same trajectory, or no episode is kept.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ExportError(f"{out} exists and is not empty: name a new folder, or remove it first")
    partial = out.with_name(f".{out.name}.{os.getpid()}.part")
    counts = Counts()
    tables: dict[str, Path] = {}
    try:
        with _Shards(partial / "episodes", EPISODES) as episodes, _Shards(partial / "turns", TURNS) as turns:
            for source in sources:
                for episode in source.episodes():
                    trajectory = episode.trajectory
                    if not keep(episode):
                        continue
                    first = tables.setdefault(trajectory.trajectory_id, source.table)
                    if first != source.table:
                        raise ExportError(
                            f"{trajectory.trajectory_id} is in {first} and in {source.table}: name one of them"
                        )
                    counts.add(episode)
                    episodes.add(trajectory.task.split, episode_row(episode, clean))
                    for turn in trajectory.turns:
                        turns.add(trajectory.task.split, turn_row(episode, turn, clean))
        if not tables:
            raise ExportError("no episode is left to export: name other tables, or leave out --only")
        (partial / "README.md").write_text(clean(card(origin, counts)))
        publish(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return counts


class _Shards:
    """The Parquet files of one table, `<split>-00000.parquet` and so on."""

    def __init__(self, folder: Path, columns: tuple[Column, ...]) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._schema = schema(columns)
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._numbers: Counter[str] = Counter()

    def add(self, split: str, row: dict[str, Any]) -> None:
        """Add a row to a split."""
        rows = self._rows.setdefault(split, [])
        rows.append(row)
        if len(rows) >= GROUP_ROWS:
            self._write(split)

    def __enter__(self) -> _Shards:
        return self

    def __exit__(self, *error: object) -> None:
        for split in [*self._rows]:
            self._write(split)
        for writer in self._writers.values():
            writer.close()

    def _write(self, split: str) -> None:
        rows, self._rows[split] = self._rows[split], []
        if not rows:
            return
        path = self._folder / f"{split}-{self._numbers[split]:05}.parquet"
        writer = self._writers.get(split)
        if writer is None:
            writer = self._writers[split] = pq.ParquetWriter(path, self._schema)
        writer.write_table(pa.Table.from_pylist(rows, self._schema))
        if path.stat().st_size >= SHARD_BYTES:
            self._writers.pop(split).close()
            self._numbers[split] += 1
