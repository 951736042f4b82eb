"""Nothing that was acknowledged is lost, nothing half-written is seen, and records come back as they were."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.records import (
    BranchPoint,
    Ending,
    ErrorCause,
    FactGroup,
    Image,
    Observation,
    Outcome,
    Reading,
    Record,
    Reward,
    Tab,
    Task,
    Termination,
    ToolCall,
    Trajectory,
    Turn,
    Verdict,
)
from components.store import Journal, digest, iter_table, mark_final, publish, read_table, write_json, write_table
from tests.samples import a_task, a_trajectory, a_turn, a_verdict, png

ROOT = Path(__file__).parent.parent
INTS = st.integers(-(2**62), 2**62)
TEXT = st.text(max_size=20)
MAYBE = st.none() | TEXT
FLOATS = st.floats(allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
JSON_OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
IMAGES = st.binary(max_size=40).map(Image.of)
TASKS = st.builds(
    Task,
    task_id=st.text(min_size=1, max_size=20),
    **dict.fromkeys(("intent", "start_url", "website", "source"), TEXT),
    **dict.fromkeys(("domain", "subdomain", "reference_answer", "decomposed_from"), MAYBE),
    split=st.sampled_from(["train", "eval", "heldout"]),
    difficulty=st.none() | st.integers(0, 99),
    horizon=st.none() | st.integers(1, 99),
    seed=st.none() | INTS,
    rubric=st.lists(st.builds(FactGroup, id=TEXT, description=TEXT, facts=st.lists(TEXT, max_size=2)), max_size=2),
    evaluator=JSON_OBJECT,
)
OBSERVATIONS = st.builds(
    Observation,
    url=TEXT,
    tabs=st.lists(st.builds(Tab, index=INTS, title=TEXT, url=TEXT, active=st.booleans()), max_size=2),
    viewport=st.tuples(INTS, INTS),
    screenshot=IMAGES,
    text=MAYBE,
)
TURNS = st.builds(
    Turn,
    index=INTS,
    observation=OBSERVATIONS,
    prompt_sha256=TEXT,
    prompt_tokens=INTS,
    response=TEXT,
    token_ids=st.lists(st.integers(0, 2**31 - 1), max_size=3),
    logprobs=st.lists(st.floats(width=32, allow_nan=False), max_size=3),  # the policy computes them in float32
    finish_reason=st.sampled_from(["stop", "length"]),
    tool_calls=st.lists(st.builds(ToolCall, name=TEXT, arguments=JSON_OBJECT, error=MAYBE), max_size=2),
    feedback=st.lists(TEXT, max_size=2),
    parse_error=MAYBE,
    timings=st.dictionaries(TEXT, FLOATS, max_size=2),
)
READINGS = st.builds(Reading, text=MAYBE, error=MAYBE, **dict.fromkeys(("url", "locator", "address"), TEXT))
TRAJECTORIES = st.builds(
    Trajectory,
    task=TASKS,
    turns=st.lists(TURNS, max_size=2),
    termination=st.sampled_from(Termination),
    answer=MAYBE,
    site_reward=st.none() | FLOATS,
    late_actions=st.none() | st.integers(0, 9),
    final_screenshot=st.none() | IMAGES,
    ending=st.none() | st.builds(Ending, url=TEXT, readings=st.lists(READINGS, max_size=2)),
    branch_of=st.none() | st.builds(BranchPoint, parent=TEXT, turn=st.integers(1, 99), difference=MAYBE),
    diagnostics=JSON_OBJECT,
    **dict.fromkeys(("trajectory_id", "policy", "protocol"), TEXT),
    **dict.fromkeys(("attempt", "seed"), INTS),
)
VERDICTS = st.builds(
    Verdict,
    error_cause=st.none() | st.sampled_from(ErrorCause),
    outcome=st.sampled_from(Outcome),
    tokens=INTS,
    cost_usd=FLOATS,
    latency_s=FLOATS,
    **dict.fromkeys(("trajectory_id", "rationale", "judge", "judge_version"), TEXT),
)
REWARDS = st.builds(
    Reward,
    trajectory_id=TEXT,
    value=FLOATS,
    masked=st.booleans(),
    format_ok=st.booleans(),
    outcome=st.none() | st.sampled_from(Outcome),
)
ANY = {Task: TASKS, Trajectory: TRAJECTORIES, Verdict: VERDICTS, Reward: REWARDS}
KINDS = pytest.mark.parametrize("kind", ANY, ids=lambda kind: kind.__name__)
PROPERTY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@KINDS
@PROPERTY
@given(data=st.data())
def test_every_record_comes_back_from_parquet_as_it_was(kind: type[Record], data: st.DataObject) -> None:
    records = data.draw(st.lists(ANY[kind], max_size=3))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "deep" / "table.parquet"
        write_table(path, kind, records, rows_per_group=2)
        assert read_table(path, kind) == records


def test_a_table_without_the_newest_column_is_read(tmp_path: Path) -> None:
    write_table(tmp_path / "new.parquet", Trajectory, [a_trajectory(late_actions=1)])
    table = pq.read_table(tmp_path / "new.parquet").drop_columns(["late_actions"])
    pq.write_table(table, tmp_path / "old.parquet")
    assert read_table(tmp_path / "old.parquet", Trajectory) == [a_trajectory()]


@KINDS
@PROPERTY
@given(data=st.data())
def test_every_record_comes_back_from_the_journal_as_it_was(kind: type[Record], data: st.DataObject) -> None:
    records = data.draw(st.lists(ANY[kind], max_size=3))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "journal.jsonl"
        with Journal(path, kind) as journal:
            for record in records:
                journal.append(record)
        with Journal(path, kind) as journal:
            assert journal.records == records


def test_a_log_probability_of_minus_infinity_survives_journal_and_table(tmp_path: Path) -> None:
    trajectory = a_trajectory(turns=1, diagnostics={"gap": float("inf")})
    turn = a_turn(logprobs=[float("-inf"), -0.5, 0.0])
    trajectory = trajectory.model_copy(update={"turns": [turn]})
    with Journal(tmp_path / "j.jsonl", Trajectory) as journal:
        journal.append(trajectory)
    write_table(tmp_path / "t.parquet", Trajectory, [trajectory])
    with Journal(tmp_path / "j.jsonl", Trajectory) as journal:
        assert journal.records == [trajectory] == read_table(tmp_path / "t.parquet", Trajectory)


def test_a_table_is_read_one_row_group_at_a_time(tmp_path: Path) -> None:
    tasks = [a_task(number) for number in range(7)]
    write_table(tmp_path / "t.parquet", Task, tasks, rows_per_group=3)
    assert list(iter_table(tmp_path / "t.parquet", Task)) == tasks


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


APPENDER = """
import sys
from pathlib import Path
from components.records import Trajectory
from components.store import Journal
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
