"""The state of a world in one episode. It can be reset, snapshotted and forked, and two states can be compared.

A world whose pages never change has no state: the methods of `World` raise `NotSupportedError` by default.
"""

from __future__ import annotations

from components.records import Record, RowChange


class State(Record):
    """A copy of a world's data, or a snapshot of a copy. The world chooses its `key`."""

    world: str
    key: str


class StateDiff(Record):
    """The changes between two states, without those that the world declares as noise (sessions, counters)."""

    changes: list[RowChange]

    @property
    def added(self) -> list[RowChange]:
        """Rows that only the second state has."""
        return [change for change in self.changes if change.before is None]

    @property
    def removed(self) -> list[RowChange]:
        """Rows that only the first state has."""
        return [change for change in self.changes if change.after is None]

    @property
    def changed(self) -> list[RowChange]:
        """Rows that both states have, with different values."""
        return [change for change in self.changes if change.before is not None and change.after is not None]
