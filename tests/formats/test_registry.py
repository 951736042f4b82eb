"""Formats are found by name and by path, and one file is enough to add one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.formats import (
    Damaged,
    NotWritable,
    ReadTrajectory,
    UnknownFormat,
    Unreadable,
    format_named,
    format_of,
    formats,
)
from components.journal import Journal
from components.records import Termination, Trajectory
from components.store import write_table
from tests.formats.samples import online_mind2web_task, webvoyager_task
from tests.judge.test_agent_reward_bench import cleaned
from tests.samples import a_task, a_trajectory

OWN = format_named("waymark")
PACKAGE = Path(__file__).resolve().parents[2] / "components/formats"


def test_formats_are_in_alphabetical_order_and_say_what_they_are():
    assert [*formats()] == ["agent_reward_bench", "atif", "inspect", "online_mind2web", "waymark", "webvoyager"]
    assert all(kind.about for kind in formats().values())


def test_each_folder_is_recognised_as_one_format(tmp_path):
    write_table(tmp_path / "own/trajectories.parquet", Trajectory, [a_trajectory()])
    webvoyager_task(tmp_path / "webvoyager")
    online_mind2web_task(tmp_path / "online")
    cleaned(tmp_path / "trajectories")
    format_named("atif").write(a_trajectory(), None, tmp_path / "atif", str)
    names = {path.name: format_of(path).name for path in tmp_path.iterdir()}
    assert names == {
        "own": "waymark",
        "webvoyager": "webvoyager",
        "online": "online_mind2web",
        "trajectories": "agent_reward_bench",
        "atif": "atif",
    }


def test_unknown_names_and_paths_list_what_there_is(tmp_path):
    with pytest.raises(UnknownFormat, match="no format 'x': one of agent_reward_bench, atif"):
        format_named("x")
    with pytest.raises(UnknownFormat, match=r"is in no known format \(agent_reward_bench: .*--format"):
        format_of(tmp_path)
    with pytest.raises(UnknownFormat, match="no such file or folder"):
        format_of(tmp_path / "x")


def test_a_folder_of_two_formats_wants_a_name(tmp_path):
    webvoyager_task(tmp_path)
    online_mind2web_task(tmp_path)
    with pytest.raises(UnknownFormat, match="may be of the formats online_mind2web, webvoyager: name one"):
        format_of(tmp_path)


def test_one_file_adds_a_format(tmp_path):
    """In a process of its own, with a copy of the package, because modules are imported once."""
    copy = tmp_path / "components"
    subprocess.run(["cp", "-r", PACKAGE.parent, copy], check=True)
    (copy / "formats/plain_lines.py").write_text(
        "from components.formats.interface import Format\n"
        "from components.formats.registry import register\n"
        "@register\n"
        "class PlainLines(Format):\n"
        "    name, about = 'plain_lines', 'lines'\n"
        "    def recognises(self, path): return path.suffix == '.lines'\n"
        "    def read(self, path): return iter(())\n"
    )
    (tmp_path / "a.lines").touch()
    code = "from pathlib import Path; from components.formats import format_of; print(format_of(Path('a.lines')).name)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "plain_lines"


def test_a_format_that_is_only_read_says_so(tmp_path):
    with pytest.raises(NotWritable, match="waymark is only read"):
        format_named("waymark").write(a_trajectory(), None, tmp_path, str)


def test_a_table_and_a_journal_give_the_trajectories(tmp_path):
    trajectories = [a_trajectory(a_task(number)) for number in range(2)]
    write_table(tmp_path / "trajectories.parquet", Trajectory, trajectories)
    with Journal(tmp_path / "trajectories.jsonl", Trajectory) as journal:
        for trajectory in trajectories:
            journal.append(trajectory)
    for path in (tmp_path, tmp_path / "trajectories.jsonl"):
        records = [*OWN.read(path)]
        assert [record.trajectory for record in records] == trajectories
    assert [record.place for record in records] == [f"{tmp_path / 'trajectories.jsonl'}:{line}" for line in (1, 2)]


def test_the_last_record_of_an_episode_in_a_journal_counts(tmp_path):
    lines = tmp_path / "trajectories.jsonl"
    ended, repeated = (a_trajectory(termination=ending) for ending in (Termination.SANDBOX_ERROR, Termination.DONE))
    other = a_trajectory(a_task(1))
    with Journal(lines, Trajectory) as journal:
        for trajectory in (ended, other, repeated):
            journal.append(trajectory)
    with lines.open("a") as file:
        file.write("\n")
    assert [record.trajectory for record in OWN.read(lines)] == [other, repeated]


def test_a_row_that_is_no_trajectory_is_named_and_the_others_are_read(tmp_path):
    path = tmp_path / "trajectories.parquet"
    write_table(path, Trajectory, [a_trajectory(a_task(number)) for number in range(3)])
    rows = pq.read_table(path).to_pylist()
    rows[1]["termination"] = "bored"
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(path)), path)
    first, damaged, third = OWN.read(path)
    assert isinstance(damaged, Damaged)
    assert damaged.reason.startswith(f"{path} row 1 is no trajectory (termination: ")
    assert isinstance(first, ReadTrajectory)
    assert isinstance(third, ReadTrajectory)


def test_every_row_of_a_part_that_cannot_be_read_is_counted(tmp_path):
    path = tmp_path / "trajectories.parquet"
    write_table(path, Trajectory, [a_trajectory(a_task(number)) for number in range(4)], rows_per_group=2)
    with pq.ParquetFile(path) as file:
        first = min(file.metadata.row_group(0).column(c).data_page_offset for c in range(file.metadata.num_columns))
    content = bytearray(path.read_bytes())
    content[first : first + 8] = b"\xff" * 8
    path.write_bytes(content)
    kinds = [type(record) for record in OWN.read(path)]
    assert kinds == [Damaged, Damaged, ReadTrajectory, ReadTrajectory]


def test_a_table_that_is_cut_off_and_a_line_that_is_damaged_are_named(tmp_path):
    path = tmp_path / "trajectories.parquet"
    write_table(path, Trajectory, [a_trajectory()])
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(Unreadable, match=r"is not a Parquet file that can be read, or only a part"):
        list(OWN.read(path))
    lines = tmp_path / "trajectories.jsonl"
    lines.write_text(a_trajectory().model_dump_json() + "\n" + a_trajectory().model_dump_json()[:99] + "\n")
    _, damaged = OWN.read(lines)
    assert damaged.reason.startswith(f"{lines}:2: is no trajectory (Invalid JSON")
