"""Rejection fine-tuning: which samples the next supervised training learns from (BrowserAgent, sections 2.4 and B.5).

Several attempts per question (the paper: 4). A question is kept if some attempts are right and some wrong; of its
right ones, the one with the most turns, since more steps mean deeper reasoning. To these a share of the earlier
demonstrations is added (the paper: 80%), against forgetting. The objective is then that of supervised training
(`training.sft`).

Deviation: the paper also filters by string matching on its answer format; here a malformed answer is never a success.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from components.records import Trajectory
from components.rollout import Group


def selected(groups: Sequence[Group]) -> list[Trajectory]:
    """One right trajectory of each mixed group; of equally long ones, the first attempt."""
    chosen = []
    for group in groups:
        scored = [
            (reward.value > 0, trajectory)
            for trajectory, reward in zip(group.trajectories, group.rewards, strict=True)
            if not reward.masked
        ]
        right = [trajectory for is_right, trajectory in scored if is_right]
        if right and len(right) < len(scored):
            chosen.append(max(right, key=lambda trajectory: len(trajectory.turns)))
    return chosen


def mixed(
    chosen: Sequence[Trajectory], demonstrations: Sequence[Trajectory], share: float, seed: int
) -> list[Trajectory]:
    """The selected trajectories and a random `share` of the earlier demonstrations, in the order of these."""
    keep = sorted(random.Random(seed).sample(range(len(demonstrations)), round(share * len(demonstrations))))
    return [*chosen, *(demonstrations[index] for index in keep)]
