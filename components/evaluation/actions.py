"""Actions per success, beside the teacher's: an agent that does more than a task needs has habits that cost elsewhere.

An action is a tool call that could be read and does more than scroll, wait or say `done` (`browser.acts`).
"""

from __future__ import annotations

from collections.abc import Iterable

from components.evaluation.episodes import Episode
from components.records import Record


class MeanActions(Record):
    """The mean number of actions over `n` successful episodes."""

    mean: float
    n: int


class ActionSummary(MeanActions):
    """The same by family, too."""

    families: dict[str, MeanActions]

    def ratio(self, teacher: ActionSummary) -> float | None:
        """The actions of these successes divided by those of the teacher on as many successes of the same families.

        Families in which either has no success are left out; None if no family is left.
        """
        shared = [(own, teacher.families[name]) for name, own in self.families.items() if name in teacher.families]
        expected = sum(own.n * other.mean for own, other in shared)
        return sum(own.n * own.mean for own, _ in shared) / expected if expected else None


def summarise_actions(episodes: Iterable[Episode]) -> ActionSummary | None:
    """The summary over the successful episodes; None if there are none."""
    families: dict[str, list[int]] = {}
    for episode in episodes:
        if episode.success:
            families.setdefault(episode.family, []).append(episode.actions)
    if not families:
        return None
    counts = [count for members in families.values() for count in members]
    by_family = {name: MeanActions(mean=_mean(members), n=len(members)) for name, members in sorted(families.items())}
    return ActionSummary(mean=_mean(counts), n=len(counts), families=by_family)


def _mean(counts: list[int]) -> float:
    return sum(counts) / len(counts)
