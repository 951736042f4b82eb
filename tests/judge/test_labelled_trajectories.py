"""Folders of labelled trajectories: what is written is read, in order, and a sample is seeded."""

from __future__ import annotations

from components.judge.labelled_trajectories import LabelledTrajectories
from components.records import Outcome
from tests.samples import a_task, a_trajectory, a_verdict


def labelled(*seeds: int) -> LabelledTrajectories:
    trajectories = [a_trajectory(a_task(seed), turns=1) for seed in seeds]
    outcomes = [Outcome.SUCCESS if seed % 2 else Outcome.FAILURE for seed in seeds]
    labels = {t.trajectory_id: a_verdict(t, outcome) for t, outcome in zip(trajectories, outcomes, strict=True)}
    return LabelledTrajectories(trajectories, labels)


def test_a_folder_has_the_trajectories_in_order_with_their_labels(tmp_path):
    first, second = labelled(3, 1, 2), labelled(5)
    LabelledTrajectories.join([first, second]).write(tmp_path)
    read = LabelledTrajectories.read(tmp_path)
    assert [*read.trajectories] == [*first.trajectories, *second.trajectories]
    assert read.labels == {**first.labels, **second.labels}


def test_only_the_labels_of_the_trajectories_are_written(tmp_path):
    many = labelled(*range(8))
    few = many.sample(3, seed=1)
    few.write(tmp_path)
    read = LabelledTrajectories.read(tmp_path)
    assert set(read.labels) == {trajectory.trajectory_id for trajectory in few.trajectories}


def test_a_sample_is_seeded_and_keeps_the_order():
    many = labelled(*range(20))
    places = [many.trajectories.index(trajectory) for trajectory in many.sample(5, seed=2).trajectories]
    assert places == sorted(places)
    assert len(set(places)) == 5
    assert many.sample(5, seed=2).trajectories == many.sample(5, seed=2).trajectories
    assert many.sample(5, seed=3).trajectories != many.sample(5, seed=2).trajectories
    assert many.sample(50, seed=2).trajectories == many.trajectories


def test_an_empty_folder_is_read_and_joined(tmp_path):
    LabelledTrajectories([], {}).write(tmp_path)
    assert len(LabelledTrajectories.join([LabelledTrajectories.read(tmp_path), labelled(1)])) == 1
    assert len(LabelledTrajectories.join([])) == 0
