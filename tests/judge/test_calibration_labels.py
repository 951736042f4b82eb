"""The labels with which judges are compared, from a table and from AgentRewardBench's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.formats import Damaged, ReadTrajectory, Unreadable, format_named
from components.judge.calibration_labels import read_calibration_labels
from components.judge.labels import CannotCompare, read_trajectories
from components.records import Outcome, Trajectory
from components.store import write_table
from tests.formats.samples import webvoyager_task
from tests.judge.test_agent_reward_bench import annotations, cleaned
from tests.samples import a_task, a_trajectory, recipe


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A trajectory of a world without state, and a CSV file that labels it."""
    trajectory = a_trajectory(a_task(1))
    write_table(tmp_path / "trajectories.parquet", Trajectory, [trajectory])
    (tmp_path / "labels.csv").write_text(f"trajectory_id,outcome\n{trajectory.trajectory_id},failure\nx,maybe\n")
    return tmp_path / "trajectories.parquet"


@pytest.fixture
def benchmark(tmp_path: Path) -> tuple[Path, Path]:
    """AgentRewardBench's folder and annotations: two experts on one task, one on another, and the splits."""
    rows = [("A", "webarena.7", "Successful"), ("B", "webarena.7", "Unsuccessful"), ("A", "webarena.8", "Unsuccessful")]
    labels = annotations(tmp_path / "annotations.csv", *rows)
    (tmp_path / "splits.csv").write_text("task_id,split\nwebarena.7,dev\nwebarena.8,test\n")
    return cleaned(tmp_path), labels


def test_labels_of_a_table_have_no_experts_and_no_ceiling(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    params = recipe()
    monkeypatch.chdir(table.parent)  # there is no distilled judge
    known = read_calibration_labels(table, table.with_name("labels.csv"), None)
    assert list(known.outcomes.values()) == [Outcome.FAILURE]
    assert len(known.left_out) == 1
    assert (known.experts, known.second_expert(params), known.judges(params)) == (None, None, ["rules"])


def test_the_benchmarks_files_have_experts_and_its_own_reward(benchmark: tuple[Path, Path]) -> None:
    known = read_calibration_labels(*benchmark, None)
    assert len(known.outcomes) == 2
    assert known.experts is not None
    assert known.judges(recipe())[:2] == ["rules", "functional"]
    ceiling = known.second_expert(recipe())
    assert ceiling is not None
    assert ceiling.n == 1


def test_a_split_keeps_its_labels_and_annotations(benchmark: tuple[Path, Path]) -> None:
    known = read_calibration_labels(*benchmark, "dev")
    assert list(known.outcomes.values()) == [Outcome.SUCCESS]
    assert known.experts is not None
    assert [annotation.task for rows in known.experts.values() for annotation in rows] == ["webarena.7"] * 2


def test_a_split_of_other_labels_is_refused(table: Path) -> None:
    with pytest.raises(CannotCompare, match="--split is of AgentRewardBench: give its folder"):
        read_calibration_labels(table, table.with_name("labels.csv"), "dev")


def test_worlds_without_state_give_no_labels(table: Path) -> None:
    with pytest.raises(CannotCompare, match="no trajectory ended with an answer in a world with state"):
        read_calibration_labels(table, None, None)


def test_a_labelled_trajectory_without_its_screenshots_is_refused(tmp_path: Path) -> None:
    """Judges would see less than the people who labelled it. Records without a label may be incomplete or damaged."""
    webvoyager_task(tmp_path, "Amazon--0")
    (webvoyager_task(tmp_path, "Amazon--1") / "screenshot2.png").unlink()
    (webvoyager_task(tmp_path, "Amazon--2") / "interact_messages.json").write_text("[")
    whole, incomplete, _ = format_named("webvoyager").read(tmp_path)
    assert [trajectory.task_id for trajectory in read_trajectories(tmp_path, [key_of(whole)])] == [
        "Amazon--0",
        "Amazon--1",
    ]
    with pytest.raises(Unreadable, match=rf"screenshot2.png.*remove the label of {key_of(incomplete)}"):
        list(read_trajectories(tmp_path, [key_of(incomplete)]))


def test_another_agents_folder_is_not_agent_reward_bench(tmp_path: Path) -> None:
    """Its trajectories have no reward of a benchmark for the judge `functional`."""
    webvoyager_task(tmp_path / "results")
    (tmp_path / "labels.csv").write_text("trajectory_id,outcome\na,failure\n")
    known = read_calibration_labels(tmp_path / "results", tmp_path / "labels.csv", None)
    assert "functional" not in known.judges(recipe())


def test_a_folder_without_trajectories_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotCompare, match=r"none of the formats .*: name a trajectories\.parquet"):
        list(read_trajectories(tmp_path))


def key_of(record: ReadTrajectory | Damaged) -> str:
    assert isinstance(record, ReadTrajectory)
    return record.trajectory.trajectory_id
