"""Groups in a stream: the same whatever takes long, all that began are used, few are under way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.params import AdaptiveSampling
from components.records import Reward, Task
from components.rollout import Group, OpenGroups, SampledGroups, Step, TaskSampler, sample_groups, stream_groups

POOL = [
    Task(task_id=f"t{i}", intent="i", start_url="http://a/", website="abc"[i % 3], source="test") for i in range(60)
]


def group(task: Task, is_effective: bool) -> Group:
    values = [0.0, float(is_effective)]
    rewards = [
        Reward(trajectory_id=f"{task.task_id}-{i}", value=value, masked=False, format_ok=True)
        for i, value in enumerate(values)
    ]
    return Group(task, [], rewards)


def number(task: Task) -> int:
    return int(task.task_id.removeprefix("t"))


class Rollouts:
    """Groups that take as many turns of the event loop as `lengths` says; task n is effective if n is in `useful`."""

    def __init__(self, lengths: Sequence[int], useful: set[int]) -> None:
        self.lengths, self.useful = lengths, useful
        self.open = self.most_open = 0
        self.began: list[str] = []

    async def roll(self, task: Task) -> Group:
        self.began.append(task.task_id)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        for _ in range(self.lengths[number(task)]):
            await asyncio.sleep(0)
        self.open -= 1
        return group(task, number(task) in self.useful)

    def stream(self, target: int = 8, limit: int = 40, most_open: int = 5, seed: int = 1) -> SampledGroups:
        sampler = TaskSampler(POOL, seed, AdaptiveSampling())
        return asyncio.run(stream_groups(sampler, self.roll, target, limit, most_open))


def names(sampled: SampledGroups) -> list[str]:
    return [group.task.task_id for group in sampled.groups]


useful_tasks = st.sets(st.integers(0, 59))
lengths = st.lists(st.integers(0, 30), min_size=60, max_size=60)


@given(useful_tasks, lengths, st.integers(1, 12), st.integers(1, 12))
def test_the_groups_do_not_depend_on_which_end_first(useful, slow, target, most_open):
    """Adaptive sampling, which draws by earlier groups: the draws are those of a run in which all take as long."""
    even = Rollouts([0] * 60, useful).stream(target, 40, most_open)
    uneven = Rollouts(slow, useful)
    sampled = uneven.stream(target, 40, most_open)
    assert names(sampled) == names(even)
    assert uneven.most_open <= most_open
    assert sorted(uneven.began) == sorted(names(sampled)), "every group that began is used"
    assert len({*names(sampled)}) == len(sampled.groups) <= 40
    assert len(sampled.effective) >= target or len(sampled.groups) == 40


def test_a_group_begins_while_an_earlier_one_is_slow():
    began_before: list[str] = []

    async def roll(task: Task) -> Group:
        rollouts.began.append(task.task_id)
        if len(rollouts.began) == 2:
            slow.append(task.task_id)
            await release.wait()
        elif slow and task.task_id not in slow and not release.is_set():
            began_before.append(task.task_id)
            if len(began_before) == 3:
                release.set()
        return group(task, True)

    async def run() -> SampledGroups:
        return await stream_groups(TaskSampler(POOL, 1), roll, target=6, limit=20, most_open=4)

    rollouts, slow, release = Rollouts([0] * 60, set()), [], asyncio.Event()
    sampled = asyncio.run(asyncio.wait_for(run(), 5))
    assert slow[0] in names(sampled)
    assert len(began_before) == 3, "these did not wait for the slow group; in waves of 4 only 2 could begin"


def test_long_groups_are_as_frequent_as_in_the_pool():
    """Lengths that go with nothing else; a loop that keeps the first groups that end would prefer the short ones."""
    rng, used = random.Random(0), []
    lengths = [50 if i % 2 else 1 for i in range(60)]
    for seed in range(100):
        useful = {i for i in range(60) if rng.random() < 0.5}
        sampled = Rollouts(lengths, useful).stream(target=8, seed=seed)
        used += [number(group.task) % 2 for group in sampled.effective]
    assert len(used) >= 800
    assert abs(fmean(used) - 0.5) < 0.06


def test_no_more_groups_begin_than_are_expected_to_be_needed():
    plan = OpenGroups(target=4, limit=100, most_open=50, expected_rate=0.5, min_rate=0.25)
    while plan.step() is Step.BEGIN:
        plan.begun += 1
    assert plan.begun == 8, "half of them are expected to be effective"
    plan.known += [True, True, True, True]
    assert plan.step() is Step.AWAIT
    plan.known += [False] * 4
    assert plan.step() is Step.END


def test_a_stream_takes_about_as_many_groups_as_waves_do():
    rng, streamed, waves = random.Random(1), [], []

    for seed in range(40):
        useful = {i for i in range(60) if rng.random() < 0.4}
        streamed.append(len(Rollouts([1] * 60, useful).stream(8, 60, 10, seed).groups))

        async def roll(tasks: list[Task], useful: set[int] = useful) -> list[Group]:
            return [group(task, number(task) in useful) for task in tasks]

        sampler = TaskSampler(POOL, seed, AdaptiveSampling())
        waves.append(len(asyncio.run(sample_groups(sampler, roll, 8, 60)).groups))
    assert fmean(streamed) < 1.15 * fmean(waves)


def test_a_pool_that_is_used_up_ends_the_stream():
    sampled = Rollouts([1] * 60, set()).stream(target=5, limit=100)
    assert sorted(names(sampled)) == sorted(task.task_id for task in POOL)


def test_an_error_of_a_later_group_ends_the_stream_at_once():
    cancelled: list[str] = []

    async def roll(task: Task) -> Group:
        if len(started) == 2:
            raise RuntimeError("the disk is full")
        started.append(task.task_id)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(task.task_id)
            raise
        return group(task, True)

    async def run() -> None:
        await stream_groups(TaskSampler(POOL, 1), roll, target=6, limit=20, most_open=3)

    started: list[str] = []
    with pytest.raises(RuntimeError, match="the disk is full"):
        asyncio.run(asyncio.wait_for(run(), 5))
    assert cancelled == started
