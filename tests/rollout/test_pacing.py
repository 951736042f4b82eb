"""Other people's sites: never more at once than allowed, a pause between starts, nothing beyond the budget."""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.agent import EpisodeSpec
from components.records import Task
from components.rollout import Budget, EpisodeNotStartedError, PacedSessions, RunCost


class _Slots:
    """A pool of `count` slots without browsers."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    @asynccontextmanager
    async def session(self, task=None):
        async with self._free:
            yield object()


def spec(host: str, number: int) -> EpisodeSpec:
    task = Task(task_id=f"{host}/{number}", intent="i", start_url=f"http://{host}/{number}", website=host, source="t")
    return EpisodeSpec(task, 0, "v", number)


def play(hosts: list[str], slots: int, per_host: int, delay_s: float, lasts_s: float = 0.02):
    """Starts by host in seconds, and the most that ran at once on one host and over all."""
    starts: dict[str, list[float]] = {}
    running: dict[str, int] = {}
    most = {"host": 0, "all": 0}

    async def main() -> None:
        paced = PacedSessions(_Slots(slots), per_host, delay_s)

        async def one(number: int, host: str) -> None:
            async with paced.session(spec(host, number)):
                starts.setdefault(host, []).append(time.monotonic())
                running[host] = running.get(host, 0) + 1
                most["host"] = max(most["host"], running[host])
                most["all"] = max(most["all"], sum(running.values()))
                await asyncio.sleep(lasts_s)
                running[host] -= 1

        async with asyncio.TaskGroup() as group:
            for number, host in enumerate(hosts):
                group.create_task(one(number, host))

    asyncio.run(main())
    return starts, most


@settings(max_examples=15)
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.integers(1, 5), st.integers(1, 3))
def test_a_host_never_has_more_episodes_at_once_than_allowed_and_all_run(hosts, slots, per_host):
    starts, most = play(hosts, slots, per_host, delay_s=0.0, lasts_s=0.002)
    assert most["host"] <= per_host
    assert most["all"] <= slots
    assert {host: len(times) for host, times in starts.items()} == {host: hosts.count(host) for host in set(hosts)}


def test_starts_on_one_host_are_a_pause_apart_even_if_browsers_come_late():
    # one slot, taken in turns by two hosts: the pause is counted from the start, not from when the wait began
    starts, _ = play(["a", "b", "a", "b", "a"], slots=1, per_host=3, delay_s=0.15)
    for times in starts.values():
        assert all(later - earlier >= 0.15 - 0.005 for earlier, later in itertools.pairwise(times))


def test_a_busy_host_does_not_block_the_browsers_of_others():
    # host a may start every 0.3 s; the only slot is free for b meanwhile
    starts, _ = play(["a", "a", "b", "b", "b"], slots=1, per_host=2, delay_s=0.3, lasts_s=0.01)
    assert starts["b"][1] < starts["a"][1] + 0.3
    assert starts["b"][0] < starts["a"][1]


def test_an_episode_in_several_tabs_counts_for_the_host_of_its_first_tab():
    starts, _ = play(["a", "a |AND| http://b"], slots=2, per_host=2, delay_s=0.15)
    (first,), (second,) = starts.values()
    assert abs(second - first) >= 0.15 - 0.005


def test_a_spent_budget_stops_new_episodes_and_lets_running_ones_end():
    finished: list[int] = []
    refused: list[str] = []

    async def main() -> None:
        paced = PacedSessions(_Slots(2), 9, 0.0, lambda: "tokens 2 (2 spent)" if len(finished) >= 2 else None)

        async def one(number: int) -> None:
            try:
                async with paced.session(spec("a", number)):
                    await asyncio.sleep(0.01)
                    finished.append(number)
            except EpisodeNotStartedError as reason:
                refused.append(str(reason))

        async with asyncio.TaskGroup() as group:
            for number in range(7):
                group.create_task(one(number))

    asyncio.run(main())
    assert set(refused) == {"tokens 2 (2 spent)"}
    assert len(refused) + len(finished) == 7
    assert 2 <= len(finished) <= 3  # the one that ran beside the second


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(), None),
        (Budget(usd=1.0, minutes=60, tokens=10_000), None),
        (Budget(usd=0.5), "usd 0.5 (0.5 spent)"),
        (Budget(minutes=2), "minutes 2 (2.5 spent)"),
        (Budget(usd=9, tokens=900), "tokens 900 (900 spent)"),
        (Budget(tokens=0), "tokens 0 (900 spent)"),
    ],
)
def test_a_budget_says_which_limit_was_reached(budget, said):
    assert budget.used_up(RunCost(usd=0.5, minutes=2.5, tokens=900)) == said
