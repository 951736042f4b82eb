"""Families that fall during RL: which ones, by an interval that leaves noise out.

Every family is compared with each earlier validation of the phase, in two figures: greedy success on its validation
tasks, and success of its training rollouts since the validation before, in which each group counts as one trial
(attempts at one task are not independent; their mean varies less than a trial, so this is careful). A family falls if
Newcombe's interval of the difference lies below 0. The level of the interval is 1 - 5% / m, where m is the number of
comparisons that a phase makes (Bonferroni): a phase in which no family changes warns with a probability of at most
about 5%.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from components.statistics import Rate, newcombe
from components.training.validation import FamilyFigures, Validation

FALSE_ALARMS = 0.05
"""Largest share of phases in which a warning may come from noise alone."""
FEWEST = 3
"""Trials on each side below which a rate is not compared."""


class Fall(NamedTuple):
    """A family that falls."""

    family: str
    figure: str
    """`validation tasks` or `training groups`."""
    since: int
    """The iteration with which the newest validation is compared."""
    before: Rate
    now: Rate

    def __str__(self) -> str:
        return (
            f"{self.family} falls: {self.before.rate:.0%} of {self.before.n} {self.figure} at iteration {self.since}, "
            f"now {self.now.rate:.0%} of {self.now.n}"
        )


def falls(validations: Sequence[Validation], planned: int) -> list[Fall]:
    """The families that the newest validation shows to fall; at most one fall per family, the largest.

    Args:
        validations: of one phase, in order.
        planned: number of validations in the whole phase.
    """
    if len(validations) < 2:
        return []
    *earlier, newest = validations
    families = {figures.family for validation in validations for figures in validation.families}
    pairs = planned * (planned - 1) // 2
    level = 1 - FALSE_ALARMS / max(1, 2 * len(families) * pairs)
    largest: dict[str, Fall] = {}
    for before in earlier:
        then = {(figures.family, figures.heldout): figures for figures in before.families}
        for now in newest.families:
            for fall in _compared(then.get((now.family, now.heldout)), now, before.iteration, level):
                known = largest.get(fall.family)
                if known is None or _size(fall) > _size(known):
                    largest[fall.family] = fall
    return [largest[family] for family in sorted(largest)]


def _compared(then: FamilyFigures | None, now: FamilyFigures, since: int, level: float) -> list[Fall]:
    if then is None:
        return []
    figures = {
        "validation tasks": (_rate(then.rate, then.n), _rate(now.rate, now.n)),
        "training groups": (
            _rate(then.training_success, then.scored_groups),
            _rate(now.training_success, now.scored_groups),
        ),
    }
    return [
        Fall(now.family, name, since, first, second)
        for name, (first, second) in figures.items()
        if first and second and newcombe(second, first, level).high < 0
    ]


def _rate(rate: float | None, n: int) -> Rate | None:
    return Rate(rate=rate, n=n) if rate is not None and n >= FEWEST else None


def _size(fall: Fall) -> float:
    return fall.before.rate - fall.now.rate
