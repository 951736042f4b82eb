"""Dynamic sampling (OpenWebRL, section 4.4): whole groups, bounded, and an error that names the cause."""

import asyncio
import json
from collections import Counter
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.params import AdaptiveSampling, UniformSampling
from components.records import Reward, Task
from components.rollout import Group, SampledGroups, SamplerState, TaskSampler, episode_specs, sample_groups


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


def sampling(adaptive: bool) -> AdaptiveSampling | UniformSampling:
    return AdaptiveSampling() if adaptive else UniformSampling()


def sample(pool: list[Task], values, wanted: int, most: int, masked: bool = False):
    asked: list[str] = []

    async def roll(wave: list[Task]) -> list[Group]:
        asked.extend(task.task_id for task in wave)
        return [group(task, values(task), masked) for task in wave]

    return asyncio.run(sample_groups(TaskSampler(pool, seed=1), roll, wanted, most)), asked


def test_sampling_goes_on_until_enough_groups_are_effective():
    hard = {f"t{i}" for i in range(0, 40, 2)}
    sampled, _ = sample(tasks(40), lambda t: [0, 0] if t.task_id in hard else [0, 1], wanted=10, most=40)
    assert len(sampled.effective) >= 10
    assert all(g.task.task_id not in hard for g in sampled.effective)


def test_every_effective_group_that_was_sampled_is_kept():
    sampled, asked = sample(tasks(40), lambda t: [0, 1], wanted=10, most=40)
    assert len(sampled.effective) == len(asked)


def test_a_slow_group_is_kept_though_there_are_enough_fast_ones():
    """Long trajectories finish late. A loop that stops at the first sufficient groups trains on short ones."""

    async def roll(wave: list[Task]) -> list[Group]:
        async def one(task: Task) -> Group:
            await asyncio.sleep(0.3 if task.task_id == "t3" else 0)
            return group(task, [0, 1])

        return list(await asyncio.gather(*(one(task) for task in wave)))

    sampled = asyncio.run(sample_groups(TaskSampler(tasks(8), seed=1), roll, target=4, limit=8))
    assert len(sampled.effective) > 4
    assert "t3" in {found.task.task_id for found in sampled.effective}


def test_sampling_stops_at_its_bound():
    sampled, asked = sample(tasks(100), lambda t: [0, 1] if t.task_id == "t7" else [0, 0], wanted=10, most=100)
    assert len(asked) == 100
    assert [g.task.task_id for g in sampled.effective] == ["t7"]


def test_no_task_is_sampled_twice_in_one_iteration_from_a_small_pool():
    pool = tasks(7)
    _, asked = sample(pool, lambda t: [0, 0] if t.task_id != "t3" else [0, 1], wanted=5, most=30)
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
    assert cause in sampled.why_none_is_effective()
    assert sampled.mastered == (values == [1, 1])


def test_tasks_that_succeed_always_or_never_are_told_apart_from_mastery():
    sampled, _ = sample(tasks(10), lambda t: [1, 1] if t.task_id == "t1" else [0, 0], wanted=2, most=10)
    assert "always or never" in sampled.why_none_is_effective()
    assert not sampled.mastered


@pytest.mark.parametrize(("masked", "mastered"), [(2, True), (3, False)])
def test_tasks_are_mastered_only_if_half_the_attempts_are_scored(masked, mastered):
    """2 of 4 masked attempts are not most of them, 3 of 5 are."""
    pool = tasks(2)
    sampled = SampledGroups([group(pool[0], [1, 1]), group(pool[1], [0] * masked, masked=True)])
    assert sampled.mastered == mastered


def test_uniform_sampling_takes_each_task_once_per_lap_and_resumes():
    pool = tasks(10)
    whole = TaskSampler(pool, seed=3)
    first = [task.task_id for task in whole.take(4)]
    saved = SamplerState(**json.loads(json.dumps(asdict(whole.state))))
    first += [task.task_id for task in whole.take(6)]
    assert sorted(first) == sorted(task.task_id for task in pool)
    resumed = TaskSampler(pool, seed=3, state=saved)
    assert [task.task_id for task in resumed.take(6)] == first[4:]


def websites(**outcomes: list[float]) -> tuple[list[Task], dict[str, list[float]]]:
    pool = [
        Task(task_id=f"{name}/{i}", intent="i", start_url="http://a/", website=name, source="test")
        for name in outcomes
        for i in range(50)
    ]
    return pool, outcomes


def test_adaptive_sampling_prefers_websites_with_a_spread_but_keeps_all():
    pool, outcomes = websites(solved=[1, 1], mixed=[0, 1], never=[0, 0])
    sampler = TaskSampler(pool, seed=5, sampling=AdaptiveSampling())
    asked: Counter[str] = Counter()
    for _ in range(30):
        chosen = sampler.take(10)
        assert len({task.task_id for task in chosen}) == 10
        sampler.observe(group(task, outcomes[task.website]) for task in chosen)
        asked.update(task.website for task in chosen)
    assert sampler.pool_reward() == pytest.approx(0.5), "as if sampled uniformly"
    assert asked["mixed"] > 200
    assert min(asked["solved"], asked["never"]) > 10


def test_adaptive_sampling_resumes_from_its_state_exactly():
    pool, outcomes = websites(solved=[1, 1], mixed=[0, 1])
    sampler = TaskSampler(pool, seed=5, sampling=AdaptiveSampling())
    sampler.observe(group(task, outcomes[task.website]) for task in sampler.take(20))
    saved = SamplerState(**json.loads(json.dumps(asdict(sampler.state))))
    resumed = TaskSampler(pool, seed=5, sampling=AdaptiveSampling(), state=saved)
    assert [task.task_id for task in resumed.take(30)] == [task.task_id for task in sampler.take(30)]


@pytest.mark.parametrize(
    "adaptive, rates, first", [(True, {}, 20), (True, {"a": 1.0, "b": 0.1}, 11), (False, {"a": 1.0, "b": 0.1}, 18)]
)
def test_the_first_wave_is_as_large_as_the_rates_so_far_ask_for(adaptive, rates, first):
    waves = []

    async def roll(wave: list[Task]) -> list[Group]:
        waves.append(len(wave))
        return [group(task, [0, 1]) for task in wave]

    pool, _ = websites(a=[], b=[])
    sampler = TaskSampler(
        pool, seed=1, sampling=AdaptiveSampling() if adaptive else UniformSampling(), state=SamplerState(rates=rates)
    )
    asyncio.run(sample_groups(sampler, roll, target=10, limit=40))
    assert waves[0] == first


def test_a_masked_group_does_not_affect_its_websites_rate():
    pool, _ = websites(a=[], b=[])
    sampler = TaskSampler(pool, seed=5, sampling=AdaptiveSampling())
    sampler.observe([group(pool[0], [0, 0], masked=True)] * 20)
    assert sampler.rate("a") == sampler.rate("b")


@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    count=st.integers(1, 40),
    adaptive=st.booleans(),
    besides=st.integers(0, 10),
)
def test_a_sampler_offers_each_task_that_the_caller_allows_exactly_once(sizes, count, adaptive, besides):
    pool = [
        Task(task_id=f"{site}/{i}", intent="i", start_url="http://a/", website=str(site), source="test")
        for site, size in enumerate(sizes)
        for i in range(size)
    ]
    refused = {task.task_id for task in pool[:besides]}
    taken = [task.task_id for task in TaskSampler(pool, 0, sampling(adaptive)).take(count, refused)]
    assert len(taken) == len(set(taken)) == min(count, len(pool) - len(refused))
    assert not refused & set(taken)


def test_a_floor_gives_every_website_its_groups_in_an_iteration():
    pool, _ = websites(solved=[1, 1], mixed=[0, 1], never=[0, 0])
    rates = {"solved": 0.0, "mixed": 1.0, "never": 0.0}
    sampler = TaskSampler(pool, 5, AdaptiveSampling(min_groups=2), SamplerState(rates=rates))
    first = sampler.take(4)
    second = sampler.take(4, excluded={task.task_id for task in first})
    assert min(Counter(task.website for task in [*first, *second]).values()) >= 2
    assert Counter(task.website for task in [*first, *second])["mixed"] >= 4, "the rest is drawn by rate"


TASK = tasks(1)[0]


def test_further_attempts_are_other_episodes_and_join_the_group():
    first, more = (episode_specs([TASK], attempts, "p", 0) for attempts in (3, range(3, 5)))
    assert [spec.attempt for spec in [*first, *more]] == [0, 1, 2, 3, 4]
    assert [*first, *more] == episode_specs([TASK], 5, "p", 0)
    joined = group(TASK, [0, 0, 0]).joined(group(TASK, [0, 1]))
    assert joined.scored == [0, 0, 0, 0, 1]
    assert joined.first_scored == [0, 0, 0]
    assert joined.is_effective
    assert joined.joined(None) is joined


def test_two_runs_of_one_recipe_draw_the_same_attempts():
    one, other = (episode_specs([TASK], 3, f"short@2:{run}", 0) for run in ("a158bb7e", "7d566f82"))
    assert [spec.seed for spec in one] == [spec.seed for spec in other]
    assert {spec.trajectory_id for spec in one}.isdisjoint(spec.trajectory_id for spec in other)
    (later, *_) = episode_specs([TASK], 3, "short@3:a158bb7e", 0)
    assert later.seed not in [spec.seed for spec in one]


def test_further_attempts_count_in_a_websites_rate_and_not_in_its_reward():
    pool, _ = websites(a=[])
    sampler = TaskSampler(pool, 5, AdaptiveSampling(memory=1.0))
    sampler.observe([group(pool[0], [0, 0]).joined(group(pool[0], [1, 1]))])
    assert (sampler.rate("a"), sampler.pool_reward()) == (1.0, 0.0)


def test_a_shorter_memory_follows_the_newest_groups():
    pool, _ = websites(a=[])
    long, short = (TaskSampler(pool, 5, AdaptiveSampling(memory=memory)) for memory in (0.2, 1.0))
    for sampler in (long, short):
        sampler.observe([group(pool[0], [0, 1]), group(pool[0], [0, 0])])
    # from 0.5: 0.5 + 0.2 (1 - 0.5) = 0.6, then 0.6 - 0.2 * 0.6 = 0.48; with memory 1 the last group alone, at the floor
    assert (long.rate("a"), short.rate("a")) == (pytest.approx(0.48), 0.1)
