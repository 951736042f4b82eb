"""A journal loses nothing that it acknowledged, whatever ends its process, and gives back what it was given."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.formats.own_table import OwnTable
from components.journal import Journal, mark_final
from components.records import Record, Trajectory, Verdict
from tests.record_strategies import RECORDS, VERDICTS
from tests.samples import a_task, a_trajectory, a_verdict

ROOT = Path(__file__).parent.parent
PROPERTY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
@PROPERTY
@given(data=st.data())
def test_every_record_comes_back_from_the_journal_as_it_was(kind: type[Record], data: st.DataObject) -> None:
    records = data.draw(st.lists(RECORDS[kind], max_size=3))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "journal.jsonl"
        with Journal(path, kind) as journal:
            for record in records:
                journal.append(record)
        with Journal(path, kind) as journal:
            assert journal.records == records
        with Journal(path, kind, in_memory=False) as journal:
            on_disk = journal.records
            for record in records:
                journal.append(record)
        assert list(on_disk) == [*records, *records]
        assert list(on_disk[1:]) == [*records, *records][1:]


def test_a_journal_that_is_not_in_memory_keeps_no_record(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    trajectories = [a_trajectory(a_task(number)) for number in range(3)]
    with Journal(path, Trajectory, in_memory=False) as journal:
        for trajectory in trajectories:
            journal.append(trajectory)
        alive = [weakref.ref(trajectory) for trajectory in trajectories]
        del trajectories, trajectory
        read = [weakref.ref(record) for record in journal.records]
        gc.collect()
        assert len(read) == 3
        assert not any(reference() for reference in [*alive, *read])


@PROPERTY
@given(verdicts=st.lists(VERDICTS, min_size=1, max_size=3), data=st.data())
def test_a_line_torn_at_any_byte_is_dropped_and_the_others_stay(verdicts: list[Verdict], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "journal.jsonl"
        with Journal(path, Verdict) as journal:
            for verdict in verdicts:
                journal.append(verdict)
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        kept = verdicts[: whole[:cut].count(b"\n")]
        with Journal(path, Verdict) as journal:
            assert journal.records == kept
            journal.append(verdicts[-1])
        with Journal(path, Verdict) as journal:
            assert journal.records == [*kept, verdicts[-1]]


@pytest.mark.parametrize("damage", [b"\x00" * 20, b"", b"{}", b'{"trajectory_id": "x"'])
def test_a_damaged_line_in_the_middle_is_an_error_that_names_the_line(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    good = a_verdict(a_trajectory()).model_dump_json().encode()
    path.write_bytes(good + b"\n" + damage + b"\n" + good + b"\n")
    with pytest.raises(ValueError, match=r"journal.jsonl:2: damaged journal line; move the file away"):
        Journal(path, Verdict)
    assert path.read_bytes().count(good) == 2  # nothing was thrown away


def test_a_journal_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path, Verdict), pytest.raises(BlockingIOError, match="stop the stage that an earlier run left"):
        Journal(path, Verdict)
    Journal(path, Verdict).close()


def test_the_marks_of_a_journal_are_no_damaged_trajectories(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    with Journal(path, Trajectory) as journal:
        journal.append(a_trajectory())
    mark_final(path)
    assert [record.trajectory for record in OwnTable().read(path)] == [a_trajectory()]


def test_the_records_before_a_mark_are_final_and_those_after_it_are_not(tmp_path: Path) -> None:
    path, verdict = tmp_path / "journal.jsonl", a_verdict(a_trajectory())
    with Journal(path, Verdict) as journal:
        journal.append(verdict)
        journal.append(verdict)
    mark_final(path)
    with Journal(path, Verdict) as journal:
        assert (len(journal.records), journal.final) == (2, 2)
        journal.append(verdict)
    with Journal(path, Verdict) as journal:
        assert (len(journal.records), journal.final) == (3, 2)
    mark_final(path)
    path.write_bytes(path.read_bytes()[:-1])
    with Journal(path, Verdict) as journal:
        assert journal.final == 2, "a torn mark is dropped like a torn record"


def test_an_append_that_hits_a_full_disk_leaves_the_journal_whole(tmp_path: Path) -> None:
    path, verdict = tmp_path / "journal.jsonl", a_verdict(a_trajectory())
    size = len(verdict.model_dump_json()) + 1
    with Journal(path, Verdict) as journal:
        journal.append(verdict)
        old = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + size // 2, old[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                journal.append(verdict)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
        assert path.stat().st_size == size
        journal.append(verdict)
    with Journal(path, Verdict) as journal:
        assert journal.records == [verdict, verdict]


def test_what_is_acknowledged_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, calls = tmp_path / "journal.jsonl", Mock()
    for name in ("write", "fsync"):
        calls.attach_mock(Mock(wraps=getattr(os, name)), name)
        monkeypatch.setattr(os, name, getattr(calls, name))
    with Journal(path, Verdict) as journal:
        assert [name for name, *_ in calls.mock_calls] == ["fsync"], "of the folder, which has a new file"
        journal.append(a_verdict(a_trajectory()))
    mark_final(path)
    assert [name for name, *_ in calls.mock_calls] == ["fsync", *["write", "fsync"] * 2]


APPENDER = """
import sys
from pathlib import Path
from components.records import Trajectory
from components.journal import Journal
from tests.samples import a_task, a_trajectory
with Journal(Path(sys.argv[1]), Trajectory) as journal:
    number = len(journal.records)
    while True:
        journal.append(a_trajectory(a_task(number), turns=3))
        number += 1
        print(number, flush=True)
"""


def test_a_child_killed_while_it_appends_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    path, acknowledged = tmp_path / "journal.jsonl", 0
    for delay in (0.0, 0.01, 0.023):
        command = [sys.executable, "-c", APPENDER, str(path)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        child.stdout.readline()
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        said = child.stdout.read().split("\n")[:-1]  # a line without its end was not said
        child.wait()
        with Journal(path, Trajectory) as journal:
            found = journal.records
        assert len(found) > acknowledged
        assert not said or len(found) >= int(said[-1])
        assert [t.task.seed for t in found] == list(range(len(found)))
        acknowledged = len(found)
