"""The interface of the formats of trajectories, and what a reader yields for each record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar, NamedTuple

from components.records import Trajectory, Verdict


class Unreadable(ValueError):
    """A file that differs from what its format publishes; the message names the place and what to do."""


class NotWritable(ValueError):
    """A trajectory that the format cannot hold; the message says why."""


class ReadTrajectory(NamedTuple):
    """A record that was read.

    `place` is its file, with the line or row if the file holds several records. `missing` has a sentence about each
    screenshot that the record names or implies and that is not there or is damaged; the steps concerned have
    `NO_SCREENSHOT`.
    """

    place: str
    trajectory: Trajectory
    missing: tuple[str, ...] = ()


class Damaged(NamedTuple):
    """A record that cannot be read. `reason` names the place and says what to do."""

    place: str
    reason: str


class Format(ABC):
    """A format of trajectories. A class per format, decorated with `register` (`registry.py`)."""

    name: ClassVar[str]
    """Its value of `--format`."""
    about: ClassVar[str]
    """What its files are, as a noun phrase: for the list of formats in errors and in `--help`."""
    writes: ClassVar[bool] = False
    """Whether `write` is implemented."""

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Whether a file or folder that exists looks like this format, by names and without reading much."""

    @abstractmethod
    def read(self, path: Path) -> Iterator[ReadTrajectory | Damaged]:
        """The records of a file or folder, in a fixed order, one in memory at a time.

        Raises:
            Unreadable: the whole holds no record of this format.
        """

    def write(
        self, trajectory: Trajectory, verdict: Verdict | None, folder: Path, clean: Callable[[str], str]
    ) -> list[str]:
        """Write one trajectory below a folder.

        Args:
            verdict: the judge's, if there is one.
            clean: removes secrets from a text.

        Returns:
            A sentence about each part that was left out.

        Raises:
            NotWritable: the format cannot hold it.
        """
        raise NotWritable(f"the format {self.name} is only read: choose one that can be written")

    def finish(self, folder: Path) -> None:  # noqa: B027  a format with a file per trajectory has nothing to do
        """Called once after the last `write`, for formats whose files hold several trajectories."""
