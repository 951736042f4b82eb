"""Families that RL does not learn although they are not solved: in each of their groups all attempts agree.

Advantages are relative to the group, so a group whose attempts all succeed or all fail gives no gradient. If a
policy makes the same mistake in every attempt, no attempt shows a better action, and the policy keeps the mistake.
"""

from __future__ import annotations

from typing import NamedTuple

from components.training.validation import Validation

FEWEST = 5
"""Groups since the validation before, below which a family is not judged."""
SOLVED = 0.9
"""Share of successful attempts from which on a family counts as solved."""


class Stall(NamedTuple):
    """A family without a gradient."""

    family: str
    groups: int
    success: float
    """Share of successes among the attempts of these groups."""

    def __str__(self) -> str:
        return (
            f"{self.family} gives no gradient: in each of its {self.groups} groups since the last validation all "
            f"attempts agree, and {self.success:.0%} succeed. The policy no longer tries anything else: raise "
            "rl.extra_attempts or rl.temperature, or rehearse demonstrations with rl.objective.replay"
        )


def stalls(newest: Validation) -> list[Stall]:
    """The families that stall, by the training rollouts since the validation before."""
    return [
        Stall(figures.family, figures.scored_groups, figures.training_success)
        for figures in newest.families
        if figures.scored_groups >= FEWEST
        and figures.effective_groups == 0
        and figures.agreeing_groups in (figures.scored_groups, None)
        and figures.training_success is not None
        and figures.training_success < SOLVED
    ]
