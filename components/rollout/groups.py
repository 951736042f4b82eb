"""Groups of trajectories per task, and dynamic sampling (OpenWebRL, section 4.4, after DAPO).

A group is effective if at least two of its members are scored and their rewards differ. Whole groups are kept or
discarded, never rows. Waves of groups are sampled in task order until enough are effective; every effective group of
the last wave is used, so that no group is preferred for having finished early and nothing that was paid for is thrown
away.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
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

    @property
    def scored(self) -> list[float]:
        """Rewards of the members that are not masked."""
        return [reward.value for reward in self.rewards if not reward.masked]

    @property
    def is_effective(self) -> bool:
        """True if the group can teach something."""
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


class TaskCursor:
    """Walks through the tasks in a seeded order, reshuffled on every pass. Its position is all the state it has."""

    def __init__(self, tasks: list[Task], seed: int, position: int = 0) -> None:
        if not tasks:
            raise ValueError("the RL pool is empty; loosen dedup.rl_threshold or add tasks")
        self._tasks = sorted(tasks, key=lambda task: task.task_id)
        self._seed = seed
        self.position = position

    def take(self, count: int) -> list[Task]:
        """The next `count` tasks (fewer if the pool is smaller), none twice."""
        taken = [self._at(self.position + offset) for offset in range(min(count, len(self._tasks)))]
        self.position += len(taken)
        return list({task.task_id: task for task in taken}.values())

    def _at(self, position: int) -> Task:
        lap, index = divmod(position, len(self._tasks))
        order = list(range(len(self._tasks)))
        random.Random(f"{self._seed}:{lap}").shuffle(order)
        return self._tasks[order[index]]


async def sample_groups(
    cursor: TaskCursor,
    roll: Callable[[list[Task]], Awaitable[list[Group]]],
    wanted: int,
    most: int,
) -> Sampled:
    """Sample waves of groups until `wanted` are effective or `most` were sampled. There may be none at all."""
    groups: list[Group] = []
    asked = 0
    while (effective := sum(group.is_effective for group in groups)) < wanted and asked < most:
        # as many as are missing at the rate seen so far, so that a wave neither overshoots nor trickles
        rate = max(effective / len(groups), 0.25) if groups else 0.5
        wave = min(max(round((wanted - effective) / rate), 2), most - asked)
        asked += wave
        # a small pool comes round again within one iteration: the same policy on the same task is the same group
        seen = {group.task.task_id for group in groups}
        groups += await roll([task for task in cursor.take(wave) if task.task_id not in seen])
    return Sampled(groups)
