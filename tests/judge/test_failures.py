"""The failures with which a judge is attacked, read from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.judge.failures import failures_of, read_failures
from components.records import Outcome, Termination, Trajectory
from components.store import write_table
from tests.samples import a_task, a_trajectory, png


def failed(count: int = 4) -> list[Trajectory]:
    return [
        a_trajectory(a_task(number), turns=2, site_reward=0.0, final_screenshot=png("navy")) for number in range(count)
    ]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Four failures by the rules and a success."""
    episodes = [*failed(), a_trajectory(a_task(9), turns=1, site_reward=1.0)]
    write_table(tmp_path / "trajectories.parquet", Trajectory, episodes)
    return tmp_path / "trajectories.parquet"


def test_only_failures_that_an_agent_ended_are_attacked() -> None:
    episodes = failed(4)
    episodes[1] = episodes[1].model_copy(update={"termination": Termination.ENV_ERROR})
    outcomes = {episode.trajectory_id: Outcome.FAILURE for episode in episodes[:3]}
    outcomes[episodes[2].trajectory_id] = Outcome.SUCCESS
    failures = failures_of(episodes, outcomes)
    assert failures.trajectories == episodes[:1]
    assert (failures.successes, failures.unlabelled, failures.unfinished) == (1, 1, 1)


def test_the_rules_decide_without_labels_and_an_episode_counts_once(table: Path) -> None:
    left_out: list[str] = []
    failures = read_failures([table, table], None, None, left_out.append)
    assert [episode.trajectory_id for episode in failures.trajectories] == [one.trajectory_id for one in failed()]
    assert (failures.successes, failures.unlabelled, left_out) == (1, 0, [])


def test_labels_decide_in_place_of_the_rules(table: Path) -> None:
    first, second, *_ = failed()
    labels = table.with_name("labels.csv")
    labels.write_text(f"trajectory_id,outcome\n{first.trajectory_id},success\n{second.trajectory_id},failure\n")
    failures = read_failures([table], labels, None, print)
    assert [episode.trajectory_id for episode in failures.trajectories] == [second.trajectory_id]
    assert (failures.successes, failures.unlabelled) == (1, 3)


def test_the_first_failures_are_taken_up_to_a_limit(table: Path) -> None:
    failures = read_failures([table], None, 2, print)
    assert [episode.trajectory_id for episode in failures.trajectories] == [one.trajectory_id for one in failed(2)]
    assert failures.successes == 1


def test_a_record_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"schema_version": "ATIF-v1.8", "steps": 3}')
    left_out: list[str] = []
    assert read_failures([tmp_path], None, None, left_out.append).trajectories == []
    (sentence,) = left_out
    assert "broken.json is left out: " in sentence


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere: no such file or folder"):
        read_failures([tmp_path / "nowhere"], None, None, print)
