"""Online filtered behaviour cloning: REINFORCE with a reward of 0 or 1 and no baseline (WebGym, section 5.1).

    loss = - 1/N sum over the turns of successful trajectories  1/|y_it| sum_k log pi(y_itk)

N is the number of these turns in the optimiser step. Failures are not learned from, and a group needs no spread of
rewards: one success is enough. With `rl.objective.drop_repeats` (the paper's repetition penalty, section 5.2) a turn
after which the screenshot is identical is left out, although its trajectory succeeded: it had no effect.

Deviation: equation 1 sums the log-probabilities over all tokens and turns of a success; here tokens are averaged inside
a turn and turns count the same, as in MM-GRPO.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import torch
from typing_extensions import override

from components.params import FilteredBCParams, Params
from components.records import Trajectory
from components.rollout import Group
from components.training.objectives.policy_gradient import PolicyGradient
from components.training.objectives.surrogate import Credit, TokenStats, TurnTokens


@dataclass(frozen=True)
class FilteredBC(PolicyGradient):
    """The mean negative log-likelihood of the turns of successful trajectories."""

    name: ClassVar[str] = "filtered_bc"
    params: FilteredBCParams = field(default_factory=FilteredBCParams)

    @classmethod
    @override
    def from_params(cls, params: Params) -> Self:
        section = params.rl.objective
        assert isinstance(section, FilteredBCParams)
        return cls(section)

    @override
    def can_learn_from(self, rewards: Sequence[float]) -> bool:
        """One member succeeds."""
        return any(value > 0 for value in rewards)

    @override
    def credits(self, group: Group) -> list[list[Credit | None]]:
        successes = [not reward.masked and reward.value > 0 for reward in group.rewards]
        return [
            [
                Credit(1.0) if is_success and not (self.params.drop_repeats and repeats) else None
                for repeats in repeated(trajectory)
            ]
            for trajectory, is_success in zip(group.trajectories, successes, strict=True)
        ]

    @override
    def turn_loss(self, tokens: TurnTokens, advantage: float) -> tuple[torch.Tensor, TokenStats]:
        with torch.no_grad():
            ratio = torch.exp(tokens.now_T - tokens.old_T).sum().item()
        return -(tokens.now_T * advantage).mean(), TokenStats(ratio, 0, len(tokens.now_T))


def repeated(trajectory: Trajectory) -> list[bool]:
    """For each turn, whether the screenshot after it is the one before it. False for the turn that ends the episode."""
    turns = trajectory.turns
    shots = [turn.observation.screenshot.sha256 for turn in turns]
    return [shots[index] == shots[index + 1] for index in range(len(turns) - 1)] + [False] * bool(turns)


KIND = FilteredBC
