"""What MM-GRPO and M-GRPO share: advantages within groups, the clipped surrogate, a KL to a reference policy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from typing_extensions import override

from components.params import MGRPOParams, MMGRPOParams
from components.rollout import Group
from components.training.objectives.branches import advantages_of
from components.training.objectives.policy_gradient import PolicyGradient
from components.training.objectives.surrogate import (
    Credit,
    TokenStats,
    TurnTokens,
    advantage_std,
    clipped_surrogate,
    group_advantages,
    with_kl,
)


class GroupRelative(PolicyGradient):
    """An objective of the GRPO family. Its formula is in the docstring of the module that implements it."""

    params: MMGRPOParams | MGRPOParams

    @abstractmethod
    def turn_weight(self, turns: int) -> float:
        """The weight of each turn of a trajectory in the mean over turns.

        Args:
            turns: number of turns of the trajectory that are learned from.
        """

    @property
    @override
    def tis_cap(self) -> float | None:
        return self.params.tis_cap

    @override
    def iteration_credits(self, groups: Sequence[Group]) -> list[list[list[Credit | None]]]:
        std = advantage_std(self.params.advantage_std, groups)
        return [self.credits(group, std) for group in groups]

    @override
    def credits(self, group: Group, std: float | None = None) -> list[list[Credit | None]]:
        made = [
            self._credits(advantage, len(trajectory.turns))
            for trajectory, advantage in zip(group.trajectories, group_advantages(group, std), strict=True)
        ]
        for branches in group.branches:
            of_parent, *of_branches = advantages_of(group, branches, std)
            if of_parent is not None:
                parent = made[branches.member]
                parent[branches.turn] = Credit(of_parent, self.turn_weight(len(parent)))
            for trajectory, advantage in zip(branches.trajectories, of_branches, strict=True):
                made.append(self._credits(advantage, len(trajectory.turns), branches.turn))
        return made

    def _credits(self, advantage: float | None, turns: int, shared: int = 0) -> list[Credit | None]:
        """One credit for all turns of a trajectory but those that it shares with its parent."""
        if advantage is None:
            return [None] * turns
        own = turns - shared
        return [*[None] * shared, *(Credit(advantage, self.turn_weight(own)) for _ in range(own))]

    @override
    def turn_loss(self, tokens: TurnTokens, advantage: float) -> tuple[torch.Tensor, TokenStats]:
        params = self.params
        surrogate_T, stats = clipped_surrogate(tokens, advantage, params.clip_low, params.clip_high, params.dual_clip)
        return with_kl(surrogate_T, stats, tokens, params.kl, params.kl_linear_from)
