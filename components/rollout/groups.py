"""Groups of trajectories per task (OpenWebRL, section 4.4).

A group is effective if at least two of its members are scored and their rewards differ; for an objective that learns
from successes alone, if one succeeds. Whole groups are kept or discarded, never rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.records import Reward, Task, Trajectory


class NothingLearnable(RuntimeError):
    """No sampled group has a spread of rewards, and that will not pass. The message says why."""


@dataclass(frozen=True)
class Group:
    """All attempts at one task, with their rewards, in the order of the attempts."""

    task: Task
    trajectories: list[Trajectory]
    rewards: list[Reward]
    needs_spread: bool = True

    @property
    def scored(self) -> list[float]:
        """Rewards of the members that are not masked."""
        return [reward.value for reward in self.rewards if not reward.masked]

    @property
    def is_effective(self) -> bool:
        """True if the group can teach something."""
        if not self.needs_spread:
            return any(value > 0 for value in self.scored)
        return len(self.scored) >= 2 and max(self.scored) > min(self.scored)


@dataclass(frozen=True)
class Sampled:
    """What an iteration sampled."""

    groups: list[Group]

    def why_nothing(self) -> str:
        """Why no group is effective, and what helps."""
        scored = self._scored
        masked = sum(reward.masked for group in self.groups for reward in group.rewards)
        head = f"none of {len(self.groups)} sampled groups has a spread of rewards"
        if not scored:
            why = f"all {masked} trajectories are masked, the environment or the judge fails; see their terminations"
            return f"{head}: {why}"
        if max(scored) <= 0:
            why = "no trajectory succeeds; train SFT longer, sample hotter (rl.temperature) or choose easier tasks"
            return f"{head}: {why}"
        if min(scored) > 0:
            return f"{head}: every trajectory succeeds; the tasks are too easy for this policy, add harder ones"
        return f"{head}: each task succeeds always or never; sample hotter (rl.temperature) or more of them"

    @property
    def mastered(self) -> bool:
        """True if every scored attempt succeeded: there is nothing left to learn here, and nothing wrong."""
        return bool(self._scored) and min(self._scored) > 0

    @property
    def _scored(self) -> list[float]:
        return [value for group in self.groups for value in group.scored]

    @property
    def effective(self) -> list[Group]:
        return [group for group in self.groups if group.is_effective]
