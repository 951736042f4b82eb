"""Groups in a stream: a new group begins as soon as an earlier one has ended, instead of waiting for a whole wave.

Two limits are apart. What runs at once is limited by the browsers: an episode of a group that has begun takes the next
free browser, whichever episode ends. How far the stream looks ahead is limited by `rl.open_groups`: a group begins only
if the results of all groups so many places before it are known. So one slow group does not stop the others, but no
group begins that many places behind it. Let the open groups have about three times as many episodes as there are
browsers.

Why a place is not free as soon as its own group has ended: whether another group is needed, and with adaptive sampling
which task it gets, follows from the results of earlier groups. If the results counted in the order in which groups end,
the groups of an iteration would depend on how long pages, servers and judges took. Two runs of one seed would get
different weights, and a run that is killed and continued, whose finished episodes are known at once, would begin
others. If a group began without the result of a slow one, it would have to begin without it in every run, also where it
was fast: that is a larger `rl.open_groups`. `OpenGroups` therefore uses results in the order in which groups began.

Every group that begins is used: whether it counts does not depend on how long it took, so short episodes are not
preferred.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum

from components.records import Task
from components.rollout.groups import Group, SampledGroups
from components.rollout.sampling import TaskSampler


class Step(Enum):
    """What happens next in a stream of groups."""

    BEGIN = "begin"
    """Another group begins."""
    AWAIT = "await"
    """The result of the earliest group that is not known yet is awaited."""
    END = "end"
    """No group begins any more; all are known."""


@dataclass
class OpenGroups:
    """Decides when another group begins.

    Attributes:
        target: effective groups that are wanted.
        limit: largest number of groups.
        most_open: largest number of groups whose results are unknown.
        expected_rate: expected share of effective groups while none is known.
        min_rate: lowest share to count on.
        begun: groups that began.
        known: whether each of the first groups is effective, in the order in which they began.
    """

    target: int
    limit: int
    most_open: int
    expected_rate: float
    min_rate: float
    begun: int = 0
    known: list[bool] = field(default_factory=list)

    def step(self) -> Step:
        """A group begins if fewer than `target` are expected to be effective, those under way included."""
        unknown, effective = self.begun - len(self.known), sum(self.known)
        rate = max(effective / len(self.known) if self.known else self.expected_rate, self.min_rate)
        is_needed = effective < self.target and effective + rate * unknown < self.target
        if is_needed and self.begun < self.limit and unknown < self.most_open:
            return Step.BEGIN
        return Step.AWAIT if unknown else Step.END


async def stream_groups(
    sampler: TaskSampler, roll: Callable[[Task], Awaitable[Group]], target: int, limit: int, most_open: int
) -> SampledGroups:
    """Sample groups one by one until `target` are effective or `limit` were sampled. The result may be empty.

    Args:
        roll: rolls out and rewards the group of one task.
        most_open: largest number of groups that are under way at once (`rl.open_groups`).

    Raises:
        Exception: the first error of `roll`; the other groups are cancelled then.
    """
    plan = OpenGroups(target, limit, most_open, sampler.expected_rate(), sampler.sampling.min_wave_rate)
    running: list[asyncio.Task[Group]] = []
    taken: set[str] = set()

    async def run(task: Task) -> Group:
        return await roll(task)

    try:
        while (step := plan.step()) is not Step.END:
            if step is Step.AWAIT:
                group = await _result(running, len(plan.known))
                sampler.observe([group])
                plan.known.append(group.is_effective)
            elif tasks := sampler.take(1, excluded=taken):
                taken.add(tasks[0].task_id)
                running.append(asyncio.create_task(run(tasks[0])))
                plan.begun += 1
            else:  # every task has its group
                plan.limit = plan.begun
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return SampledGroups([task.result() for task in running])


async def _result(running: list[asyncio.Task[Group]], index: int) -> Group:
    """The result of one group; the first error of any group that is under way."""
    first = running[index]
    while not first.done():
        done, _ = await asyncio.wait([task for task in running if not task.done()], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    return first.result()
