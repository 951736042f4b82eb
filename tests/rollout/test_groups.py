"""Dynamic sampling (OpenWebRL, section 4.4): whole groups, bounded, and an error that names the cause."""

import asyncio

import pytest

from components.records import Reward, Task
from components.rollout import Group, TaskCursor, sample_groups


def tasks(count: int) -> list[Task]:
    return [Task(task_id=f"t{i}", intent="i", start_url="http://a/", website="a", source="test") for i in range(count)]


def group(task: Task, values: list[float], masked: bool = False) -> Group:
    return Group(
        task,
        [],
        [
            Reward(trajectory_id=f"{task.task_id}-{i}", value=v, masked=masked, format_ok=True)
            for i, v in enumerate(values)
        ],
    )


def sample(pool: list[Task], values, wanted: int, most: int, masked: bool = False):
    asked: list[str] = []

    async def roll(wave: list[Task]) -> list[Group]:
        asked.extend(task.task_id for task in wave)
        return [group(task, values(task), masked) for task in wave]

    return asyncio.run(sample_groups(TaskCursor(pool, seed=1), roll, wanted, most)), asked


def test_sampling_goes_on_until_enough_groups_are_effective():
    hard = {f"t{i}" for i in range(0, 40, 2)}
    sampled, _ = sample(tasks(40), lambda t: [0, 0] if t.task_id in hard else [0, 1], wanted=10, most=40)
    assert len(sampled.effective) >= 10
    assert all(g.task.task_id not in hard for g in sampled.effective)


def test_every_effective_group_that_was_sampled_is_kept():
    sampled, asked = sample(tasks(40), lambda t: [0, 1], wanted=10, most=40)
    assert len(sampled.effective) == len(asked)


def test_sampling_stops_at_its_bound():
    sampled, asked = sample(tasks(100), lambda t: [0, 1] if t.task_id == "t7" else [0, 0], wanted=10, most=100)
    assert len(asked) == 100
    assert [g.task.task_id for g in sampled.effective] == ["t7"]


def test_no_task_is_sampled_twice_in_one_iteration_from_a_small_pool():
    cursor_start_misaligned = tasks(7)
    _, asked = sample(cursor_start_misaligned, lambda t: [0, 0] if t.task_id != "t3" else [0, 1], wanted=5, most=30)
    assert len(asked) == len(set(asked)) == 7


@pytest.mark.parametrize(
    ("values", "masked", "cause"),
    [
        ([0, 0], False, "no trajectory succeeds"),
        ([1, 1], False, "every trajectory succeeds"),
        ([0, 0], True, "are masked"),
    ],
)
def test_an_iteration_without_spread_names_the_cause(values, masked, cause):
    sampled, _ = sample(tasks(10), lambda t: values, wanted=2, most=10, masked=masked)
    assert not sampled.effective
    assert cause in sampled.why_nothing()
    assert sampled.mastered == (values == [1, 1])


def test_tasks_that_succeed_always_or_never_are_told_apart_from_mastery():
    sampled, _ = sample(tasks(10), lambda t: [1, 1] if t.task_id == "t1" else [0, 0], wanted=2, most=10)
    assert "always or never" in sampled.why_nothing()
    assert not sampled.mastered


def test_the_cursor_passes_over_every_task_once_per_lap_and_resumes_from_its_position():
    pool = tasks(10)
    whole = TaskCursor(pool, seed=3)
    first = [task.task_id for task in whole.take(4)] + [task.task_id for task in whole.take(6)]
    assert sorted(first) == sorted(task.task_id for task in pool)
    resumed = TaskCursor(pool, seed=3, position=4)
    assert [task.task_id for task in resumed.take(6)] == first[4:]
