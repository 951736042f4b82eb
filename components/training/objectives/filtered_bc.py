"""Online filtered behaviour cloning: REINFORCE with a reward of 0 or 1, no baseline (WebGym, section 5.1).

    loss = - 1/N sum over the turns of successful trajectories  1/|y_it| sum_k log pi(y_itk)

N is the number of these turns in the optimiser step. Nothing is learned from failures, and a group needs no spread: one
success is enough. With `rl.drop_repeats` (the paper's repetition penalty, section 5.2) a turn whose next screenshot is
identical is left out, since it did nothing, though the trajectory succeeded.

Deviation: the paper gives no normalisation of lengths; tokens are averaged inside a turn and turns count the same, as
in MM-GRPO.
"""

from __future__ import annotations

import torch

from components.params import RLParams
from components.records import Trajectory
from components.rollout import Group
from components.training.objectives.surrogate import Credit, TokenStats, TurnTokens


def assign_credit(group: Group, rl: RLParams) -> list[list[Credit | None]]:
    """Per member and turn; None for what teaches nothing."""
    return [
        [
            Credit(1.0) if not reward.masked and reward.value > 0 and not (rl.drop_repeats and repeats) else None
            for repeats in repeated(trajectory)
        ]
        for trajectory, reward in zip(group.trajectories, group.rewards, strict=True)
    ]


def repeated(trajectory: Trajectory) -> list[bool]:
    """For each turn, whether the screenshot after it is the one before it. The turn that ends the episode never is."""
    turns = trajectory.turns
    shots = [turn.observation.screenshot.sha256 for turn in turns]
    return [shots[index] == shots[index + 1] for index in range(len(turns) - 1)] + [False] * bool(turns)


def turn_loss(tokens: TurnTokens, advantage: float, rl: RLParams) -> tuple[torch.Tensor, TokenStats]:
    """The loss of one turn, averaged over its tokens."""
    with torch.no_grad():
        ratio = torch.exp(tokens.now_T - tokens.old_T).sum().item()
    return -(tokens.now_T * advantage).mean(), TokenStats(ratio, 0, len(tokens.now_T))
