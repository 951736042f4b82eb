"""Nothing that was acknowledged is lost, nothing half-written is seen, and records come back as they were."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components import store
from components.journal import Journal
from components.records import Outcome, Record, Task, Trajectory, Verdict
from components.store import (
    UnreadableTable,
    digest,
    iter_named_table,
    iter_table,
    publish,
    read_table,
    write_json,
    write_table,
)
from tests.record_strategies import RECORDS
from tests.samples import a_task, a_trajectory, a_turn, a_verdict, png

ROOT = Path(__file__).parent.parent
KINDS = pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
PROPERTY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@KINDS
@PROPERTY
@given(data=st.data())
def test_every_record_comes_back_from_parquet_as_it_was(kind: type[Record], data: st.DataObject) -> None:
    records = data.draw(st.lists(RECORDS[kind], max_size=3))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "deep" / "table.parquet"
        write_table(path, kind, records, rows_per_group=2)
        assert read_table(path, kind) == records


def test_a_table_without_the_newest_column_is_read(tmp_path: Path) -> None:
    write_table(tmp_path / "new.parquet", Trajectory, [a_trajectory(late_actions=1)])
    table = pq.read_table(tmp_path / "new.parquet").drop_columns(["late_actions"])
    pq.write_table(table, tmp_path / "old.parquet")
    assert read_table(tmp_path / "old.parquet", Trajectory) == [a_trajectory()]


def test_a_log_probability_of_minus_infinity_survives_journal_and_table(tmp_path: Path) -> None:
    trajectory = a_trajectory(turns=1, diagnostics={"gap": float("inf")})
    turn = a_turn(logprobs=[float("-inf"), -0.5, 0.0])
    trajectory = trajectory.model_copy(update={"turns": [turn]})
    with Journal(tmp_path / "j.jsonl", Trajectory) as journal:
        journal.append(trajectory)
    write_table(tmp_path / "t.parquet", Trajectory, [trajectory])
    with Journal(tmp_path / "j.jsonl", Trajectory) as journal:
        assert journal.records == [trajectory] == read_table(tmp_path / "t.parquet", Trajectory)


def test_a_table_is_read_one_row_group_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, read, groups = [a_task(number) for number in range(7)], pq.ParquetFile.read_row_group, []

    def noted_read(file: pq.ParquetFile, group: int) -> pa.Table:
        groups.append(group)
        return read(file, group)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", noted_read)
    write_table(tmp_path / "t.parquet", Task, tasks, rows_per_group=3)
    table = iter_table(tmp_path / "t.parquet", Task)
    first = next(table)
    assert groups == [0]
    assert [first, *table] == tasks


def test_a_row_group_ends_before_it_is_too_large_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyArrow writes a group of more than 2 GiB of images, and cannot read it."""
    trajectories = [a_trajectory(a_task(number), turns=3) for number in range(6)]
    size = sum(len(turn.observation.screenshot.data) for turn in trajectories[0].turns)
    monkeypatch.setattr(store, "BYTES_PER_GROUP", 2 * size)
    write_table(tmp_path / "t.parquet", Trajectory, trajectories)
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups >= 3
    assert read_table(tmp_path / "t.parquet", Trajectory) == trajectories


def test_a_failed_writer_leaves_the_old_table_and_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, Task, [a_task(1)])

    def broken() -> object:
        yield a_task(2)
        raise RuntimeError("browser died")

    with pytest.raises(RuntimeError, match="browser died"):
        write_table(path, Task, broken())
    assert read_table(path, Task) == [a_task(1)]
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


def test_a_reader_never_sees_a_partial_table_or_json(tmp_path: Path) -> None:
    table, note = tmp_path / "t.parquet", tmp_path / "n.json"
    versions = [[a_task(number) for number in range(size)] for size in (1, 60)]
    write_table(table, Task, versions[0])
    write_json(note, list(range(1)))
    stop = threading.Event()

    def write() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            write_table(table, Task, versions[turn % 2])
            write_json(note, list(range(turn % 2 * 5000)))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(60):
            assert read_table(table, Task) in versions
            assert len(json.loads(note.read_text())) in (0, 1, 5000)
    finally:
        stop.set()
        writer.join()


def test_publishing_a_directory_replaces_all_of_the_old_one(tmp_path: Path) -> None:
    for version in ("old", "new"):
        partial = tmp_path / "model.part"
        (partial / "deep").mkdir(parents=True)
        (partial / "deep" / f"{version}.bin").write_text(version)
        publish(partial, tmp_path / "models" / "sft")
    assert [p.name for p in (tmp_path / "models").iterdir()] == ["sft"]
    assert [p.name for p in (tmp_path / "models" / "sft" / "deep").iterdir()] == ["new.bin"]


def test_a_file_or_folder_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, Path]] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(handle: int) -> None:
        fsync(handle)
        calls.append(("fsync", Path(f"/proc/self/fd/{handle}").readlink()))

    def noted_replace(old: Path, new: Path) -> None:
        replace(old, new)
        calls.append(("replace", new))

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    folder, file = tmp_path / "model.part", tmp_path / "note.part"
    (folder / "deep").mkdir(parents=True)
    for path in (folder / "deep" / "weights", file):
        path.write_text("new")
    publish(folder, tmp_path / "model")
    assert sorted(calls[:3]) == [("fsync", path) for path in (folder, folder / "deep", folder / "deep" / "weights")]
    assert calls[3:] == [("replace", tmp_path / "model"), ("fsync", tmp_path)]
    publish(file, tmp_path / "note")
    assert calls[5:] == [("fsync", file), ("replace", tmp_path / "note"), ("fsync", tmp_path)]


def test_what_a_killed_process_of_the_same_id_left_is_no_obstacle(tmp_path: Path) -> None:
    path, old = tmp_path / "model", tmp_path / f".model.{os.getpid()}.old"
    for folder in (path, old, tmp_path / "partial"):
        folder.mkdir()
        (folder / "weights").write_text(folder.name)
    publish(tmp_path / "partial", path)
    assert (path / "weights").read_text() == "partial"
    assert not old.exists()


def test_a_file_does_not_replace_a_directory(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "part").write_text("new")
    with pytest.raises(IsADirectoryError, match="is a folder, which no file replaces"):
        publish(tmp_path / "part", tmp_path / "pages")
    assert (tmp_path / "pages").is_dir()


def test_the_digest_changes_with_content_names_and_order_alone(tmp_path: Path) -> None:
    a, b, tree = tmp_path / "a", tmp_path / "b", tmp_path / "tree"
    a.write_text("one")
    b.write_text("two")
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "x").write_text("x")
    before = digest(a, b, tree, a_task(), "text", 1)
    assert digest(a, b, tree, a_task(), "text", 1) == before
    os.utime(a)
    assert digest(a, b, tree, a_task(), "text", 1) == before
    others = [
        digest(b, a, tree, a_task(), "text", 1),
        digest(a, b, tree, a_task(1), "text", 1),
        digest(a, b, tree, a_task(), "text", "1"),
    ]
    (tree / "sub" / "x").rename(tree / "sub" / "y")
    others.append(digest(a, b, tree, a_task(), "text", 1))
    a.write_text("One")
    others.append(digest(a, b, tree, a_task(), "text", 1))
    assert len({before, *others}) == 6


def test_the_digest_of_a_missing_input_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such input"):
        digest(tmp_path / "nothing")


def test_images_are_stored_as_bytes_not_text(tmp_path: Path) -> None:
    write_table(tmp_path / "t.parquet", Trajectory, [a_trajectory(turns=1)])
    assert png().data in (tmp_path / "t.parquet").read_bytes()


def test_a_table_and_a_journal_from_before_endings_were_kept_still_load(tmp_path: Path) -> None:
    trajectory = a_trajectory()
    write_table(tmp_path / "new.parquet", Trajectory, [trajectory])
    pq.write_table(pq.read_table(tmp_path / "new.parquet").drop_columns(["ending"]), tmp_path / "old.parquet")
    assert read_table(tmp_path / "old.parquet", Trajectory) == [trajectory]
    line = json.loads(trajectory.model_dump_json())
    del line["ending"]
    (tmp_path / "old.jsonl").write_text(json.dumps(line) + "\n")
    with Journal(tmp_path / "old.jsonl", Trajectory) as journal:
        assert journal.records == [trajectory]


def test_a_table_of_verdicts_without_causes_is_read(tmp_path: Path) -> None:
    verdict = a_verdict(a_trajectory(), Outcome.ERROR)
    write_table(tmp_path / "new.parquet", Verdict, [verdict])
    pq.write_table(pq.read_table(tmp_path / "new.parquet").drop_columns("error_cause"), tmp_path / "old.parquet")
    assert read_table(tmp_path / "old.parquet", Verdict) == [verdict]


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("messages", [{"tool_calls": [{"arguments": {"x": 1}}]}], None),
        ("process", 7, None),
        ("timings", [0.5], None),
        ("evaluator", "no JSON", None),
        ("created", 10**15, pa.timestamp("s")),
    ],
)
def test_a_table_of_others_is_refused_whatever_its_columns_have(
    tmp_path: Path, name: str, value: object, kind: pa.DataType | None
) -> None:
    pq.write_table(pa.table({name: pa.array([value], kind)}), tmp_path / "others.parquet")
    with pytest.raises(UnreadableTable, match="is no table of trajectories that can be read"):
        next(iter_named_table(tmp_path / "others.parquet", Trajectory))
