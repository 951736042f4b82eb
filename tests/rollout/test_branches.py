"""At which turns branches begin, and which episodes they are."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.params import BranchParams
from components.records import Reward, Trajectory
from components.rollout import Group, branch_specs, choose_turns
from tests.samples import a_task, a_trajectory, a_turn


def group(*turns: int, masked: tuple[int, ...] = (), logprobs: dict[tuple[int, int], float] | None = None) -> Group:
    """Attempts with these numbers of turns. `logprobs`: of one token of a member's turn; others have -1."""
    trajectories = [
        attempt(
            member,
            [
                a_turn(index, token_ids=[1], logprobs=[(logprobs or {}).get((member, index), -1.0)])
                for index in range(n)
            ],
        )
        for member, n in enumerate(turns)
    ]
    rewards = [
        Reward(trajectory_id=t.trajectory_id, value=float(member == 0), masked=member in masked, format_ok=True)
        for member, t in enumerate(trajectories)
    ]
    return Group(a_task(), trajectories, rewards)


def attempt(number: int, turns: list) -> Trajectory:
    return a_trajectory(attempt=number).model_copy(update={"turns": turns})


def drawn(of: Group, count: int, turn: str = "uniform", seed: int = 0) -> list[tuple[int, int]]:
    return choose_turns(of, BranchParams(per_group=count, continuations=1, turn=turn), seed)


GROUPS = st.lists(st.integers(0, 6), min_size=1, max_size=5)


@settings(max_examples=60)
@given(GROUPS, st.integers(1, 12), st.sampled_from(["uniform", "entropy"]), st.integers(0, 99), st.data())
def test_turns_are_different_and_neither_first_nor_of_masked_ones(lengths, count, turn, seed, data):
    masked = data.draw(st.sets(st.integers(0, len(lengths) - 1)))
    of = group(*lengths, masked=tuple(masked))
    places = drawn(of, count, turn, seed)
    possible = {(member, index) for member, n in enumerate(lengths) for index in range(1, n) if member not in masked}
    assert {*places} <= possible
    assert len(places) == len({*places}) == min(count, len(possible))
    assert places == sorted(places) == drawn(of, count, turn, seed)


def test_every_turn_is_drawn_equally_often():
    of = group(3, 2, 1)
    counts = Counter(place for seed in range(600) for place in drawn(of, 1, seed=seed))
    # three possible turns: 200 each, with a standard deviation of sqrt(600 * 1/3 * 2/3) = 11.5
    assert counts.keys() == {(0, 1), (0, 2), (1, 1)}
    assert all(abs(count - 200) < 5 * 11.5 for count in counts.values())


def test_undecided_turns_are_drawn_in_proportion_to_their_entropy():
    of = group(3, 2, logprobs={(0, 1): -3.0, (0, 2): 0.0, (1, 1): -1.0})
    counts = Counter(place for seed in range(600) for place in drawn(of, 1, "entropy", seed))
    # weights 3, 0 and 1: 450 and 150 draws, with a standard deviation of sqrt(600 * 3/4 * 1/4) = 10.6
    assert counts.keys() == {(0, 1), (1, 1)}
    assert abs(counts[0, 1] - 450) < 5 * 10.6
    assert drawn(of, 3, "entropy") == [(0, 1), (0, 2), (1, 1)], "a sure turn is drawn if there are no others"


def test_a_policy_that_is_always_sure_branches_anywhere():
    of = group(3, logprobs={(0, 1): 0.0, (0, 2): 0.0})
    assert {place for seed in range(20) for place in drawn(of, 1, "entropy", seed)} == {(0, 1), (0, 2)}


def test_branches_are_episodes_of_their_own_and_always_the_same():
    of = group(4, 3)
    specs = branch_specs(of, [(0, 2), (1, 1)], 3, run_seed=7)
    assert [(spec.branch.parent, spec.branch.turn) for spec in specs] == [
        *[(of.trajectories[0], 2)] * 3,
        *[(of.trajectories[1], 1)] * 3,
    ]
    ids = [spec.trajectory_id for spec in specs]
    assert len({*ids, *(t.trajectory_id for t in of.trajectories)}) == 8
    assert ids == [spec.trajectory_id for spec in branch_specs(of, [(0, 2), (1, 1)], 3, run_seed=7)]
    assert not {*ids} & {spec.trajectory_id for spec in branch_specs(of, [(0, 2), (1, 1)], 3, run_seed=8)}
    assert {(spec.task.task_id, spec.policy_version) for spec in specs} == {(of.task.task_id, "sample")}
    assert [spec.branch.shared for spec in specs[:1]] == [of.trajectories[0].turns[:2]]


@pytest.mark.parametrize("keys", [{"per_group": 0}, {"continuations": 0}, {"turn": "last"}])
def test_impossible_numbers_are_refused(keys):
    with pytest.raises(ValueError, match=next(iter(keys))):
        BranchParams.model_validate({"per_group": 1, "continuations": 1} | keys)
