"""Folders of trajectories with their labels, from which a judge learns: two tables each."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from components.lazy_records import Chain, TableRecords
from components.records import Trajectory, Verdict
from components.store import read_table, write_table

TRAJECTORIES, VERDICTS = "trajectories.parquet", "verdicts.parquet"
"""The tables of a folder."""
REHEARSED = "rehearsed"
"""The folder, in the directory of the distilled judge, of examples of its training (`judge.distill.retrain`)."""


@dataclass(frozen=True)
class LabelledTrajectories:
    """Trajectories and their labels."""

    trajectories: Sequence[Trajectory]
    labels: Mapping[str, Verdict]
    """By trajectory id, on all trajectories. They are successes or failures."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Those of a folder. The trajectories are read when they are accessed."""
        labels = {verdict.trajectory_id: verdict for verdict in read_table(folder / VERDICTS, Verdict)}
        return cls(TableRecords(folder / TRAJECTORIES, Trajectory), labels)

    @classmethod
    def join(cls, parts: Iterable[LabelledTrajectories]) -> Self:
        """The trajectories of all parts, in order."""
        parts = [*parts]
        labels = {key: label for part in parts for key, label in part.labels.items()}
        return cls(Chain(*(part.trajectories for part in parts)), labels)

    def __len__(self) -> int:
        return len(self.trajectories)

    def sample(self, number: int, seed: int) -> LabelledTrajectories:
        """At most `number` of them, in their order."""
        places = random.Random(seed).sample(range(len(self)), min(number, len(self)))
        return LabelledTrajectories([self.trajectories[place] for place in sorted(places)], self.labels)

    def write(self, folder: Path) -> None:
        """Write both tables, each published by rename: the trajectories last, so a folder that has them is whole."""
        order = (self.labels[trajectory.trajectory_id] for trajectory in self.trajectories)
        write_table(folder / VERDICTS, Verdict, order)
        write_table(folder / TRAJECTORIES, Trajectory, self.trajectories)
