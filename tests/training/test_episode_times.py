"""The seconds of an iteration's episodes as figures."""

from __future__ import annotations

import pytest

from components.records import BranchPoint, Trajectory
from components.training.episode_times import episode_times
from tests.samples import a_trajectory, a_turn


def an_episode(**fields) -> Trajectory:
    """10 s long: 0.5 s to open the page, two turns that wait 2 s for the policy and take 1 s of the browser each."""
    timings = {"policy": 2.0, "queue": 0.25, "act": 0.75, "look": 0.25}
    work = {"vision_s": 0.5, "prefill_s": 1.0, "decode_s": 1.5}
    diagnostics = {"wall_s": 10.0, "start": {"navigate": 0.5, "queue": 0.125}, "work": work}
    turns = [a_turn(index, timings=timings) for index in range(2)]
    return a_trajectory().model_copy(update={"turns": turns, "diagnostics": diagnostics, **fields})


def test_times_of_episodes_are_added_up_by_kind():
    assert episode_times([an_episode(), an_episode()]) == {
        "episodes_s": 20.0,
        "browser_s": 5.0,
        "policy_s": 8.0,
        "queue_s": 1.25,
        "vision_s": 1.0,
        "prefill_s": 2.0,
        "decode_s": 3.0,
    }


def test_turns_that_a_branch_shares_with_its_parent_count_once():
    branch = an_episode(branch_of=BranchPoint(parent="p", turn=1))
    replayed = branch.model_copy(update={"diagnostics": branch.diagnostics | {"replay_s": 0.75}})
    figures = episode_times([replayed])
    assert (figures["policy_s"], figures["queue_s"]) == (2.0, 0.375)
    assert figures["browser_s"] == pytest.approx(0.5 + 0.75 + 1.0)


def test_the_episodes_of_a_killed_process_are_not_counted():
    assert episode_times([an_episode(), an_episode()], earlier=1) == episode_times([an_episode()])
    finished = episode_times([an_episode()], earlier=1)
    assert set(finished.values()) == {0.0}
    assert finished.keys() == episode_times([an_episode()]).keys()


def test_servers_and_broken_browsers_have_no_work_of_the_policy():
    served = an_episode(diagnostics={"wall_s": 3.0})
    crashed = an_episode(turns=[], diagnostics={"error": "the browser died", "retries": 5})
    assert episode_times([served, crashed]) == {"episodes_s": 3.0, "browser_s": 2.0, "policy_s": 4.0, "queue_s": 0.5}
