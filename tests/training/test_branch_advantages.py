"""Advantages at branches (VinePPO, arXiv 2410.01679): beside a few lines of numpy, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.params import MGRPOParams, MMGRPOParams
from components.records import BranchPoint, Reward, Trajectory
from components.rollout import Branches, Group
from components.training.objectives.branches import branch_advantages
from components.training.objectives.m_grpo import MGRPO
from components.training.objectives.mm_grpo import MMGRPO
from components.training.objectives.surrogate import group_advantages
from tests.samples import a_task, a_trajectory, objective, recipe

REWARDS = st.sampled_from([-1.0, 0.0, 0.1, 1.0]) | st.floats(-1, 1)


def reference(parent: float, branches: list[float | None], divisor: float) -> list[float]:
    """NaN for what has no advantage."""
    rewards = np.array([parent, *branches], dtype=float)
    if np.isnan(rewards[1:]).all():
        return [np.nan] * len(rewards)
    return [*((rewards - np.nanmean(rewards)) / divisor)]


@given(REWARDS, st.lists(st.none() | REWARDS, max_size=6), st.floats(0.01, 2))
def test_advantages_are_those_of_numpy_and_stay_in_range(parent, branches, divisor):
    made = branch_advantages(parent, branches, divisor)
    numbers = [np.nan if advantage is None else advantage for advantage in made]
    assert numbers == pytest.approx(reference(parent, branches, divisor), abs=1e-9, nan_ok=True)
    scored = [advantage for advantage in made if advantage is not None]
    assert sum(scored) == pytest.approx(0, abs=1e-9 / divisor)
    assert all(abs(advantage) <= 2 / divisor for advantage in scored)
    assert [advantage is None for advantage in made[1:]] == [reward is None for reward in branches]


def test_the_state_of_a_branch_has_a_value_of_its_own():
    # the parent fails; of three branches two succeed: V = (0 + 1 + 1 + 0) / 4 = 1/2
    assert branch_advantages(0.0, [1.0, 1.0, None, 0.0], 1.0) == [-0.5, 0.5, 0.5, None, -0.5]
    assert branch_advantages(1.0, [None], 1.0) == [None, None], "masked branches say nothing of the state"


def scored(trajectory: Trajectory, value: float | None) -> Reward:
    return Reward(trajectory_id=trajectory.trajectory_id, value=value or 0.0, masked=value is None, format_ok=True)


def branched(turn: int, values: list[float | None]) -> Group:
    """Three attempts of 4, 2 and 3 turns with the rewards 1, 0 and 0, and branches of the first with one more turn."""
    attempts = [a_trajectory(turns=n, attempt=n) for n in (4, 2, 3)]
    point = BranchPoint(parent=attempts[0].trajectory_id, turn=turn)
    continued = [
        a_trajectory(turns=5, attempt=10 + n).model_copy(update={"branch_of": point}) for n in range(len(values))
    ]
    branches = Branches(0, turn, continued, [scored(t, value) for t, value in zip(continued, values, strict=True)])
    rewards = [scored(t, value) for t, value in zip(attempts, (1.0, 0.0, 0.0), strict=True)]
    return Group(a_task(), attempts, rewards, branches=(branches,))


def test_only_the_turns_of_the_branch_itself_are_trained():
    group = branched(2, [0.0, None])
    credits = MMGRPO(MMGRPOParams(advantage_std="none")).iteration_credits([group])[0]
    advantages = [[credit and round(credit.advantage, 4) for credit in turns] for turns in credits]
    third = round(1 / 3, 4)
    assert advantages == [
        [0.6667, 0.6667, 0.5, 0.6667],  # V = (1 + 0) / 2 at the third turn
        [-third] * 2,
        [-third] * 3,
        [None, None, -0.5, -0.5, -0.5],
        [None] * 5,
    ]
    assert [len(turns) for turns in credits] == [len(t.turns) for t in group.episodes]


def test_branches_change_nothing_in_the_group_itself():
    group, plain = branched(1, [None, None]), Group(a_task(), *_members())
    made = MMGRPO().iteration_credits([group])[0]
    assert made[:3] == MMGRPO().iteration_credits([plain])[0]
    assert (group.scored, group.is_effective) == ([1.0, 0.0, 0.0], True)


def _members() -> tuple[list[Trajectory], list[Reward]]:
    group = branched(1, [])
    return group.trajectories, group.rewards


def test_branches_have_the_scale_of_their_group():
    credits = MMGRPO().iteration_credits([branched(1, [0.0])])[0]
    # rewards 1, 0, 0: sample std sqrt((4/9 + 1/9 + 1/9) / 2) = sqrt(1/3)
    assert credits[0][1].advantage == pytest.approx(0.5 * np.sqrt(3), abs=1e-5)
    assert credits[0][0].advantage == pytest.approx(group_advantages(branched(1, []))[0])


def test_each_branch_weighs_as_much_as_a_trajectory_in_m_grpo():
    credits = MGRPO(MGRPOParams()).iteration_credits([branched(2, [0.0])])[0]
    assert [sum(credit.weight for credit in turns if credit) for turns in credits] == pytest.approx([1, 1, 1, 1])


def test_a_branch_that_did_not_begin_is_counted_and_not_used():
    group = branched(2, [None, 1.0])
    (branches,) = group.branches
    assert (branches.dropped, branches.used) == (0, 1)
    point = BranchPoint(parent="p", turn=2, difference="turn 2 begins with another text")
    dropped = branches.trajectories[0].model_copy(update={"branch_of": point, "turns": []})
    assert Branches(0, 2, [dropped, branches.trajectories[1]], branches.rewards).dropped == 1


@pytest.mark.parametrize("name", ["filtered_bc", "rft"])
def test_an_objective_without_advantages_refuses_branches(name):
    keys = {"rl__branches": {"per_group": 1, "continuations": 2}}
    with pytest.raises(ValueError, match=rf"rl\.branches has no meaning for .*{name}.*set rl\.branches to null"):
        recipe(rl__objective=objective(name).model_dump(), **keys)
    assert recipe(rl__objective=objective("m_grpo").model_dump(), **keys).rl.branches.turn == "uniform"
