"""Dynamic sampling (OpenWebRL, section 4.4, after DAPO), and the choice of its tasks.

Waves of groups are sampled until enough are effective. Every effective group of the last wave is used, so that groups
that end early are not preferred and no paid episode is discarded.

`uniform` (OpenWebRL) goes through the whole pool in a seeded order, reshuffled in every pass. `adaptive` first draws a
website, in proportion to its tasks and to the share of its recent groups that were effective, and then its next task.
The reason: a group whose attempts all end alike is paid for and discarded, tasks of one website are alike, and as the
policy improves, most websites are solved always or not yet: with uniform draws, four of five groups then teach nothing.
Every website keeps at least `min_rate`, so that a change is noticed. With `min_groups`, an iteration has some groups of
each website.

`ratio` (WebGym, section 5.3) takes levels of difficulty in turns, and then the level's next task. A level without tasks
left for this iteration loses its turn, without compensation later.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from components.params import AdaptiveSampling, RatioSampling, TaskSampling, UniformSampling
from components.records import Task
from components.rollout.groups import Group, SampledGroups
from components.tasks import level_of, mixture, require_levels


@dataclass
class SamplerState:
    """The sampler's whole state, for a checkpoint."""

    draws: int = 0
    """Number of tasks taken; with a ratio, number of turns taken or lost."""
    positions: dict[str, int] = field(default_factory=dict)
    """Number of tasks taken from each pool so far."""
    rates: dict[str, float] = field(default_factory=dict)
    """Running share of effective groups by website."""
    rewards: dict[str, float] = field(default_factory=dict)
    """Running mean reward by website."""
    effective: int = 0
    """Number of effective groups so far, from which updates have learned."""

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> SamplerState:
        """A saved state. One of an earlier version does not know whether a group was effective; it counts as if."""
        return cls(**{"effective": saved["draws"], **saved})


class TaskSampler:
    """Chooses tasks of the RL pool. Equal seeds, states and observed groups give equal tasks."""

    def __init__(
        self,
        tasks: Iterable[Task],
        seed: int,
        sampling: TaskSampling | None = None,
        state: SamplerState | None = None,
    ) -> None:
        """Sort the tasks into pools: by level for a ratio, by website if adaptive, else into one (also for None).

        Raises:
            ValueError: no task can be taken, or `sampling` is a ratio and a task has no difficulty.
        """
        self.state = state or SamplerState()
        self.sampling = sampling or UniformSampling()
        self._seed = seed
        self._adaptive = isinstance(sampling, AdaptiveSampling)
        self._min_groups = sampling.min_groups if isinstance(sampling, AdaptiveSampling) else 0
        self._turns: list[str] = [*mixture(sampling)] if isinstance(sampling, RatioSampling) else []
        self._orders: dict[str, tuple[int, list[int]]] = {}
        self._sizes: Counter[str] = Counter()
        self._pools: dict[str, list[Task]] = {}
        for task in sorted(tasks, key=lambda task: task.task_id):
            name = self._pool_of(task)
            if not self._turns or name in self._turns:
                self._sizes[task.website] += 1
                self._pools.setdefault(name, []).append(task)
        if not self._pools:
            raise ValueError(
                "the RL pool has none of the tasks that rl.task_sampling asks for; change it or add tasks"
                if self._turns
                else "the RL pool is empty; loosen dedup.rl_threshold or add tasks"
            )

    def take(self, count: int, excluded: Collection[str] = ()) -> list[Task]:
        """The next `count` different tasks; fewer if the pool has no more.

        Args:
            excluded: ids of the tasks that this iteration has taken already.
        """
        taken: list[Task] = []
        seen = set(excluded)
        left = {name: sum(task.task_id not in seen for task in pool) for name, pool in self._pools.items()}
        while len(taken) < count and any(left.values()):
            names = [name for name, number in left.items() if number]
            rare = [name for name in names if len(self._pools[name]) - left[name] < self._min_groups]
            name = self._draw(rare or names)
            task = self._next(name, seen)
            self.state.draws += 1
            seen.add(task.task_id)
            left[name] -= 1
            taken.append(task)
        return taken

    def observe(self, groups: Iterable[Group]) -> None:
        """Update the running averages with sampled groups. Groups with fewer than two scored members are ignored.

        The rates, which steer sampling, are over all members: they are the share of groups that training can use. The
        rewards, which are a figure, are over the first members (`Group.first_scored`).
        """
        for group in groups:
            name = group.task.website
            self.state.effective += group.is_effective
            if len(group.scored) >= 2:
                rate = self.rate(name)
                self.state.rates[name] = rate + self.sampling.memory * (group.is_effective - rate)
            if len(group.first_scored) >= 2:
                reward = sum(group.first_scored) / len(group.first_scored)
                mean = self.state.rewards.get(name, reward)
                self.state.rewards[name] = mean + self.sampling.memory * (reward - mean)

    def pool_reward(self) -> float:
        """Estimated mean reward of the whole pool, from the running means of the websites sampled so far.

        The mean of the latest samples would be biased, because adaptive sampling prefers websites where attempts fail
        and succeed alike. 0 before the first score.
        """
        sizes = {name: number for name, number in self._sizes.items() if name in self.state.rewards}
        total = sum(self.state.rewards[name] * number for name, number in sizes.items())
        return total / sum(sizes.values()) if sizes else 0.0

    def rate(self, website: str) -> float:
        """Expected share of effective groups of a website, at least `min_rate`."""
        return max(self.state.rates.get(website, self.sampling.first_rate), self.sampling.min_rate)

    def expected_rate(self) -> float:
        """Expected share of effective groups among the next tasks."""
        weights = {name: number * (self.rate(name) if self._adaptive else 1.0) for name, number in self._sizes.items()}
        return sum(weight * self.rate(name) for name, weight in weights.items()) / sum(weights.values())

    def _pool_of(self, task: Task) -> str:
        if not self._turns:
            return task.website if self._adaptive else ""
        require_levels([task])
        return str(level_of(task.difficulty))

    def _draw(self, names: list[str]) -> str:
        """The name of the next pool."""
        if self._turns:
            while (name := self._turns[self.state.draws % len(self._turns)]) not in names:
                self.state.draws += 1
            return name
        weights = [len(self._pools[name]) * self.rate(name) for name in names]
        return random.Random(f"{self._seed}:{self.state.draws}").choices(names, weights)[0]

    def _next(self, name: str, seen: Collection[str]) -> Task:
        pool = self._pools[name]
        while True:
            lap, index = divmod(self.state.positions.get(name, 0), len(pool))
            self.state.positions[name] = lap * len(pool) + index + 1
            task = pool[self._order(name, lap)[index]]
            if task.task_id not in seen:
                return task

    def _order(self, name: str, lap: int) -> list[int]:
        if self._orders.get(name, (-1,))[0] != lap:
            order = list(range(len(self._pools[name])))
            random.Random(f"{self._seed}:{name}:{lap}").shuffle(order)
            self._orders[name] = (lap, order)
        return self._orders[name][1]


async def sample_groups(
    sampler: TaskSampler, roll: Callable[[list[Task]], Awaitable[list[Group]]], target: int, limit: int
) -> SampledGroups:
    """Sample waves of groups until `target` groups are effective or `limit` were sampled. The result may be empty."""
    groups: list[Group] = []
    while (effective := sum(group.is_effective for group in groups)) < target and len(groups) < limit:
        # the number still needed at the rate so far, so that waves are neither too large nor too small
        rate = effective / len(groups) if groups else sampler.expected_rate()
        demand = round((target - effective) / max(rate, sampler.sampling.min_wave_rate))
        wave = min(max(demand, sampler.sampling.min_wave), limit - len(groups))
        # each task once per iteration: the same policy on the same task would give the same group
        tasks = sampler.take(wave, excluded={group.task.task_id for group in groups})
        if not tasks:
            break
        rolled = await roll(tasks)
        sampler.observe(rolled)
        groups += rolled
    return SampledGroups(groups)
