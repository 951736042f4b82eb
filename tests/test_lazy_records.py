"""Records that stay on disk are those of the file, in order, and few of them are in memory at once."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from components.lazy_records import Chain, Selection, TableRecords, read_in_order, where
from components.records import Trajectory
from components.store import write_table
from tests.samples import a_task, a_trajectory

TRAJECTORIES = [a_trajectory(a_task(number)) for number in range(7)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Seven trajectories in row groups of three."""
    write_table(tmp_path / "t.parquet", Trajectory, TRAJECTORIES, rows_per_group=3)
    return tmp_path / "t.parquet"


def test_a_table_is_a_sequence_of_its_records(table: Path) -> None:
    records = TableRecords(table, Trajectory)
    assert len(records) == 7
    assert list(records) == TRAJECTORIES
    assert [records[-1], records[0], records[3]] == [TRAJECTORIES[index] for index in (-1, 0, 3)]
    assert list(records[1:6:2]) == TRAJECTORIES[1:6:2]
    with pytest.raises(IndexError):
        records[7]


def test_an_empty_table_has_no_records(tmp_path: Path) -> None:
    write_table(tmp_path / "t.parquet", Trajectory, [])
    assert list(TableRecords(tmp_path / "t.parquet", Trajectory)) == []


def test_one_row_group_of_a_table_is_in_memory(table: Path) -> None:
    records = TableRecords(table, Trajectory)
    alive = []
    for record in records:
        alive.append(weakref.ref(record))
        del record
        gc.collect()
        assert sum(reference() is not None for reference in alive) <= 3


def test_a_selection_has_the_chosen_records_in_its_own_order(table: Path) -> None:
    chosen = Selection(TableRecords(table, Trajectory), [5, 0, 5])
    assert list(chosen) == [TRAJECTORIES[index] for index in (5, 0, 5)]
    assert list(chosen[1:]) == [TRAJECTORIES[index] for index in (0, 5)]


def test_a_chain_has_the_records_of_its_parts_in_turn(table: Path) -> None:
    records = TableRecords(table, Trajectory)
    chain = Chain(Selection(records, [6]), [], TRAJECTORIES[:2])
    assert list(chain) == [TRAJECTORIES[6], *TRAJECTORIES[:2]]
    assert list(chain[::2]) == [TRAJECTORIES[6], TRAJECTORIES[1]]


def test_records_are_chosen_by_what_they_are(table: Path) -> None:
    chosen = where(TableRecords(table, Trajectory), lambda trajectory: trajectory.task.seed in (2, 5))
    assert list(chosen) == [TRAJECTORIES[index] for index in (2, 5)]


def test_records_are_read_in_the_order_of_the_file(table: Path) -> None:
    places: list[int] = []

    class Noted(TableRecords[Trajectory]):
        def read(self, place: int) -> Trajectory:
            places.append(place)
            return super().read(place)

    assert read_in_order(Noted(table, Trajectory), [6, 1, 4, 1]) == [TRAJECTORIES[index] for index in (6, 1, 4, 1)]
    assert places == [1, 4, 6]
