"""Groups of trajectories per task (OpenWebRL, section 4.4).

A group is effective if the objective can learn from it. By default at least two of its members must be scored, and
their rewards must differ; an objective may have another rule. Only whole groups are kept or discarded.

Only groups without a success get further attempts (`rl.extra_attempts`). Advantages are over all members. Figures of
reward and success are over the first ones: with all members, the mean over groups would be too high, because only
groups with a mean of 0 are tried again, and the mean over episodes too low, because failed tasks have more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from components.records import Reward, Task, Trajectory
from components.rollout.endings import commonest_reason


class NothingLearnableError(RuntimeError):
    """No sampled group can be learned from, and more sampling will not change that. The message names the cause."""


def rewards_differ(rewards: Sequence[float]) -> bool:
    """Whether a group with these rewards of its scored members teaches an objective that compares members."""
    return len(rewards) >= 2 and max(rewards) > min(rewards)


@dataclass(frozen=True)
class Branches:
    """The episodes that continue one attempt of a group from the state before one of its turns."""

    member: int
    """The attempt's place in its group."""
    turn: int
    """The first turn that they do not share with the attempt."""
    trajectories: list[Trajectory]
    rewards: list[Reward]
    """Masked for a branch that the environment ended, or that could not begin."""

    @property
    def dropped(self) -> int:
        """Number of branches that did not begin, because their page was not the attempt's."""
        points = [trajectory.branch_of for trajectory in self.trajectories]
        return sum(point is not None and point.difference is not None for point in points)

    @property
    def used(self) -> int:
        """Number of branches that are learned from."""
        return sum(not reward.masked for reward in self.rewards)


@dataclass(frozen=True)
class Group:
    """All attempts at one task, with their rewards, in the order of the attempts."""

    task: Task
    trajectories: list[Trajectory]
    rewards: list[Reward]
    can_teach: Callable[[Sequence[float]], bool] = rewards_differ
    """The objective's rule: whether it can learn from the rewards of the scored members."""
    branches: tuple[Branches, ...] = ()
    """They count neither in the group's rewards nor in whether it is effective."""
    extra: int = 0
    """Number of further attempts; they are behind the others."""

    def joined(self, more: Group | None) -> Group:
        """This group with further attempts at the same task, if there are any."""
        if more is None:
            return self
        trajectories, rewards = [*self.trajectories, *more.trajectories], [*self.rewards, *more.rewards]
        return replace(self, trajectories=trajectories, rewards=rewards, extra=self.extra + len(more.rewards))

    @property
    def episodes(self) -> list[Trajectory]:
        """The attempts, and behind them all branches."""
        return [*self.trajectories, *(branch for branches in self.branches for branch in branches.trajectories)]

    @property
    def scored(self) -> list[float]:
        """Rewards of the members that are not masked."""
        return [reward.value for reward in self.rewards if not reward.masked]

    @property
    def first_scored(self) -> list[float]:
        """Rewards of the members that are not masked, without the further attempts: what figures are taken from."""
        first = self.rewards[: len(self.rewards) - self.extra]
        return [reward.value for reward in first if not reward.masked]

    @property
    def is_effective(self) -> bool:
        """Whether the objective can learn from the group."""
        return self.can_teach(self.scored)


@dataclass(frozen=True)
class SampledGroups:
    """The groups that an iteration sampled."""

    groups: list[Group]

    def why_none_is_effective(self) -> str:
        """A sentence: why no group is effective, and what to change."""
        scored = self._scored
        head = f"none of {len(self.groups)} sampled groups can be learned from"
        if self.mostly_masked:
            masked = [reward.masked for group in self.groups for reward in group.rewards]
            count = f"all {len(masked)}" if all(masked) else f"{sum(masked)} of {len(masked)}"
            reason = f"{count} trajectories are masked, the environment or the judge fails"
            ended = [t for group in self.groups for t in group.trajectories if not t.termination.is_agents_doing]
            return f"{head}: {reason}" + (f"; most often {commonest_reason(ended)}" if ended else "")
        if max(scored) <= 0:
            reason = "no trajectory succeeds; train SFT longer, sample hotter (rl.temperature) or choose easier tasks"
            return f"{head}: {reason}"
        if min(scored) > 0:
            return f"{head}: every trajectory succeeds; the tasks are too easy for this policy, add harder ones"
        return f"{head}: each task succeeds always or never; sample hotter (rl.temperature) or more of them"

    @property
    def masked_share(self) -> float:
        """The share of the attempts that are masked, from 0 to 1; 1 without attempts, of which nothing is known."""
        masked = [reward.masked for group in self.groups for reward in group.rewards]
        return sum(masked) / len(masked) if masked else 1.0

    @property
    def mostly_masked(self) -> bool:
        """Whether more than half of the attempts are masked, so that the others say little of the policy."""
        return self.masked_share > 0.5

    @property
    def mastered(self) -> bool:
        """Whether at least half of the attempts are scored and all of these succeeded: none of the groups is effective,
        but nothing is wrong."""
        return not self.mostly_masked and min(self._scored) > 0

    @property
    def _scored(self) -> list[float]:
        return [value for group in self.groups for value in group.scored]

    @property
    def effective(self) -> list[Group]:
        """The groups from which the objective can learn."""
        return [group for group in self.groups if group.is_effective]
