"""Advantages of turns at which branches begin (VinePPO, arXiv 2410.01679, section 4).

    V   = mean of the rewards of all scored episodes that went on from the state: the branches and their parent
    A_i = (r_i - V) / (std + 1e-6)

A_i is the advantage of the parent's turn at the branch, and of all turns of a branch i that it does not share with its
parent. The shared turns of a branch are not trained, because the parent has them. All other turns of the group have the
group's advantages.

Deviations from VinePPO: It estimates the value of every state by episodes that are not trained on, and takes the
difference of the values before and after a step. Here the episodes are trained on, each is its own estimate of what
comes after the step, and V contains it, as the mean of GRPO does. The divisor is that of the group
(`rl.objective.advantage_std`), so that the turns of an iteration have one scale; with `none`, A_i is r_i - V.
"""

from __future__ import annotations

from collections.abc import Sequence

from components.rollout import Branches, Group
from components.training.objectives.surrogate import EPSILON, group_std


def branch_advantages(parent: float, branches: Sequence[float | None], divisor: float) -> list[float | None]:
    """The advantages of the parent's turn and of each branch, in this order.

    All are None without a scored branch: the state then has no value of its own, and the parent keeps its advantage.

    Args:
        parent: the parent's reward.
        branches: the rewards of the branches; None is a masked one, which has no advantage.
        divisor: above 0.
    """
    scored = [reward for reward in branches if reward is not None]
    if not scored:
        return [None] * (1 + len(branches))
    value = (parent + sum(scored)) / (1 + len(scored))
    return [None if reward is None else (reward - value) / divisor for reward in [parent, *branches]]


def advantages_of(group: Group, branches: Branches, std: float | None = None) -> list[float | None]:
    """The advantages of the parent's turn and of the branches that leave it there.

    Args:
        std: the divisor of the group's advantages; None takes the group's own.
    """
    rewards = [None if reward.masked else reward.value for reward in branches.rewards]
    return branch_advantages(group.rewards[branches.member].value, rewards, group_std(group, std) + EPSILON)
