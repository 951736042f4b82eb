"""Falls during RL: of all trained families together, of the held-out ones together, and of single families.

A validation is compared with each earlier one of its phase, and with that of the policy with which the phase began, if
an earlier phase validated it. Compared are greedy success on the validation tasks of the trained families, on those of
the held-out families, and, family by family, greedy success on its validation tasks and success of its training
rollouts since the validation before. There each group counts as one trial: attempts at one task are not independent,
and their mean varies less than a trial, so this is careful. So is taking two greedy successes on the same tasks for
independent.

A figure falls if Newcombe's interval of the difference lies below 0. The three questions (trained families, held-out
families, single families) have equal shares of the false alarms, and in each the level of the interval is
1 - 5% / 3 / m, where m is the number of comparisons that a phase makes for it (Bonferroni): a phase in which nothing
changes warns with a probability of at most about 5%.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from components.records import Task
from components.statistics import Rate, newcombe
from components.training.validation import HELDOUT, FamilyFigures, Validation

FALSE_ALARMS = 0.05
"""Largest share of phases in which a warning may come from noise alone."""
QUESTIONS = 3
"""Trained families together, held-out families together, single families."""
FEWEST = 3
"""Trials on each side below which a rate is not compared."""
TRAINED_TOGETHER = "success on all trained families"
HELDOUT_TOGETHER = "success on the held-out families"
TASKS = "validation tasks"
GROUPS = "training groups"


class Fall(NamedTuple):
    """What falls: a family, or families together."""

    name: str
    """The family, `TRAINED_TOGETHER` or `HELDOUT_TOGETHER`."""
    figure: str
    """`validation tasks` or `training groups`."""
    since: str
    """The validation with which the newest one is compared."""
    before: Rate
    now: Rate

    def __str__(self) -> str:
        return (
            f"{self.name} falls: {self.before.rate:.0%} of {self.before.n} {self.figure} at {self.since}, "
            f"now {self.now.rate:.0%} of {self.now.n}"
        )


@dataclass(frozen=True)
class Comparisons:
    """The comparisons of one phase."""

    planned: int
    """Number of validations in the whole phase."""
    has_earlier: bool = False
    """Whether they are compared with one of an earlier phase, too."""

    def level(self, figures: int) -> float:
        """The level of each interval of a question about so many figures."""
        pairs = self.planned * (self.planned - 1) // 2 + self.planned * self.has_earlier
        return 1 - FALSE_ALARMS / QUESTIONS / max(1, figures * pairs)

    def fewest(self, figures: int) -> int:
        """The smallest number of trials on which a fall from all to none is seen."""
        level = self.level(figures)
        return next(n for n in count(FEWEST) if _falls(Rate(rate=1.0, n=n), Rate(rate=0.0, n=n), level))


def falls(validations: Sequence[Validation], planned: int, earlier: Validation | None = None) -> list[Fall]:
    """What the newest validation shows to fall; of each family, and of families together, the largest fall.

    Args:
        validations: of one phase, in order.
        planned: number of validations in the whole phase.
        earlier: that of the policy with which the phase began, made in an earlier phase.
    """
    *before, newest = validations
    compared = [(f"iteration {validation.iteration}", validation) for validation in before]
    if earlier is not None:
        compared.insert(0, (f"iteration {earlier.iteration} of the phase before", earlier))
    comparisons = Comparisons(planned, earlier is not None)
    alone, families = comparisons.level(1), comparisons.level(_family_figures([*validations, *_given(earlier)]))
    largest: dict[str, Fall] = {}
    for since, then in compared:
        together = ((TRAINED_TOGETHER, then.success, newest.success), (HELDOUT_TOGETHER, then.heldout, newest.heldout))
        fallen = [
            Fall(name, TASKS, since, first, second)
            for name, first, second in together
            if first and second and _falls(first, second, alone)
        ]
        by_family = {(figures.family, figures.heldout): figures for figures in then.families}
        for now in newest.families:
            if figures := by_family.get((now.family, now.heldout)):
                fallen += [
                    Fall(now.family, figure, since, first, second)
                    for figure, first, second in _figures(figures, now)
                    if _falls(first, second, families)
                ]
        for fall in fallen:
            known = largest.get(fall.name)
            if known is None or _size(fall) > _size(known):
                largest[fall.name] = fall
    together_first = sorted(largest, key=lambda name: (name not in (TRAINED_TOGETHER, HELDOUT_TOGETHER), name))
    return [largest[name] for name in together_first]


def limits_of_warnings(tasks: Sequence[Task], comparisons: Comparisons) -> str | None:
    """Which falls no warning can name, because there are too few validation tasks; None if there are enough.

    Args:
        tasks: the validation tasks.
    """
    by_family = Counter((task.split == HELDOUT, task.family) for task in tasks)
    trained = {family: n for (heldout, family), n in by_family.items() if not heldout}
    heldout = {family: n for (heldout, family), n in by_family.items() if heldout}
    together, alone = comparisons.fewest(1), comparisons.fewest(2 * len(trained) + len(heldout))
    lines = [
        f"the {sum(families.values())} {kind} validation tasks are too few to warn even if success falls from 100% to "
        f"0%: that takes {together} (rl.validation.{key})"
        for kind, key, families in (("trained", "tasks", trained), ("held-out", "heldout", heldout))
        if families and sum(families.values()) < together
    ]
    few = [
        f"{len(names)} of {len(families)} {kind} families"
        for kind, families in (("trained", trained), ("held-out", heldout))
        if (names := [family for family, n in families.items() if n < alone])
    ]
    if few:
        lines.append(
            f"{' and '.join(few)} have too few validation tasks to be named one by one when they fall, which takes "
            f"{alone} of each; trained families are also named by their training groups"
        )
    return "; ".join(lines) or None


def _family_figures(validations: Sequence[Validation]) -> int:
    """The number of figures by family that are compared: training groups, and validation tasks if there are enough."""
    families = [figures for validation in validations for figures in validation.families]
    groups = {figures.family for figures in families if not figures.heldout}
    return len(groups) + len({(figures.family, figures.heldout) for figures in families if figures.n >= FEWEST})


def _figures(then: FamilyFigures, now: FamilyFigures) -> Iterator[tuple[str, Rate, Rate]]:
    """The figures that a family has in two validations, with their rates then and now."""
    rates = (
        (TASKS, _rate(then.rate, then.n), _rate(now.rate, now.n)),
        (GROUPS, _rate(then.training_success, then.scored_groups), _rate(now.training_success, now.scored_groups)),
    )
    for figure, first, second in rates:
        if first and second:
            yield figure, first, second


def _falls(before: Rate, now: Rate, level: float) -> bool:
    return min(before.n, now.n) >= FEWEST and newcombe(now, before, level).high < 0


def _rate(rate: float | None, n: int) -> Rate | None:
    return Rate(rate=rate, n=n) if rate is not None and n else None


def _given(earlier: Validation | None) -> list[Validation]:
    return [] if earlier is None else [earlier]


def _size(fall: Fall) -> float:
    return fall.before.rate - fall.now.rate
