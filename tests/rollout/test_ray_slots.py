"""Slots of a machine that answers too late: the worker frees them, whatever the caller took for lost.

The worker is the real one, in this process, on a stand-in for its browsers; no Ray cluster runs.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from components.browser import SandboxError
from components.params import BrowserParams, RolloutParams
from components.rollout import ray_pool, ray_session
from components.rollout.ray_pool import BrowserWorker, NoWorkersError, RayPool

BROWSER = BrowserParams(step_timeout_s=0.05, start_timeout_s=0.05, concurrency=1)


class OneSlot:
    """A machine's browsers, with one slot, and a session whose steps take `step_s` and whose end takes `close_s`."""

    requests = 0

    def __init__(self) -> None:
        self.timings: dict[str, float] = {}
        self.health: dict[str, float] = {}
        self.slot = asyncio.Semaphore(1)
        self.step_s = self.close_s = 0.0

    async def __aenter__(self) -> OneSlot:
        return self

    async def __aexit__(self, *exc: object) -> None: ...

    @contextlib.asynccontextmanager
    async def session(self, task: object):
        async with self.slot:
            yield self
            await asyncio.sleep(self.close_s)

    async def step(self, calls: object) -> str:
        await asyncio.sleep(self.step_s)
        return "stepped"


class LocalHandle:
    """Calls an actor as Ray's handle does: `handle.method.remote(...)` runs even if its caller no longer waits. Answers
    to calls that are made now arrive `delay_s` late."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.delay_s = 0.0

    def __getattr__(self, name: str) -> Any:
        method, delay_s = getattr(self.actor, name), self.delay_s

        async def answer(*arguments: Any) -> Any:
            try:
                return await method(*arguments)
            finally:
                await asyncio.sleep(delay_s)

        class Method:
            @staticmethod
            def remote(*arguments: Any) -> asyncio.Future[Any]:
                return asyncio.shield(asyncio.ensure_future(answer(*arguments)))

        return Method


@pytest.fixture
def on_one_slot(monkeypatch):
    """Runs `await scenario(pool, machine)`, then checks that the worker holds no session and its slot is free."""
    monkeypatch.setattr(ray_session, "TRANSPORT_LIMIT_S", 0.2)
    monkeypatch.setattr(ray_session, "OPEN_LIMIT_S", 0.1)

    def run(scenario) -> None:
        async def main() -> None:
            machine = OneSlot()
            monkeypatch.setattr("components.browser.open_browsers", lambda *arguments: machine)
            pool = RayPool(BROWSER, RolloutParams(executor="ray"))
            worker = BrowserWorker(BROWSER, [None], "none")
            pool._workers = [LocalHandle(worker)]
            pool._mark_lost(0, 1)
            await scenario(pool, machine)
            monkeypatch.setattr(ray_session, "TRANSPORT_LIMIT_S", 60.0)
            monkeypatch.setattr(ray_session, "OPEN_LIMIT_S", 60.0)
            async with asyncio.timeout(60), pool.session() as session:
                assert await session.step([]) == "stepped"
            assert not worker._open_sessions
            assert not machine.slot.locked()

        asyncio.run(main())

    return run


def test_a_machine_that_answers_too_late_does_not_cost_the_slot(on_one_slot):
    async def scenario(pool: RayPool, machine: OneSlot) -> None:
        handle = pool._workers[0]
        machine.step_s = 60

        async def episode() -> None:
            async with pool.session() as session:
                handle.delay_s = 60
                await session.step([])

        with pytest.raises(SandboxError, match="was lost: it does not answer"):
            await episode()
        machine.step_s = handle.delay_s = 0

    on_one_slot(scenario)


def test_a_step_may_wait_in_a_queue_of_a_machine_that_answers(on_one_slot):
    async def scenario(pool: RayPool, machine: OneSlot) -> None:
        machine.step_s = 1.0  # its limit and the way there and back are 0.25 s
        async with pool.session() as session:
            assert await session.step([]) == "stepped"
        machine.step_s = 0

    on_one_slot(scenario)


def test_all_slots_of_a_lost_machine_wait_for_its_repair(on_one_slot):
    """Else an episode that is tried again would take one after the other, and use up its tries within milliseconds."""

    async def scenario(pool: RayPool, machine: OneSlot) -> None:
        for _ in range(2):
            pool._free.put_nowait(await pool._take_slot())
        pool._free.put_nowait(0)
        pool._workers[0].delay_s = 0.3  # of the answer that ends the repair
        pool._mark_lost(0, 1)
        assert await pool._take_slot() == 0
        assert not pool._repairs
        assert pool._free.qsize() == 2, "of three slots"
        pool._workers[0].delay_s = 0
        pool._free.put_nowait(0)

    on_one_slot(scenario)


def test_a_repair_at_the_end_of_the_wait_does_not_end_the_stage(on_one_slot, monkeypatch):
    monkeypatch.setattr(ray_pool, "CLUSTER_TIMEOUT_S", 2.0)

    async def scenario(pool: RayPool, machine: OneSlot) -> None:
        handle = pool._workers[0]

        async def episode() -> str:
            async with pool.session() as session:
                return await session.step([])

        async with pool.session():
            waiting = asyncio.create_task(episode())
            await asyncio.sleep(1.5)
            handle.delay_s = 1.0  # the first episode's end is answered too late, and the repair lasts until 2.7 s
        await asyncio.sleep(0.1)
        handle.delay_s = 0.0
        assert await waiting == "stepped"

    on_one_slot(scenario)


def test_machines_that_stay_silent_end_the_stage(on_one_slot, monkeypatch):
    monkeypatch.setattr(ray_pool, "CLUSTER_TIMEOUT_S", 0.3)
    monkeypatch.setattr(ray_pool, "REPAIR_POLL_S", 0.05)

    async def scenario(pool: RayPool, machine: OneSlot) -> None:
        handle = pool._workers[0]
        handle.delay_s = 60
        with pytest.raises(NoWorkersError, match="no machine of the Ray cluster has answered"):
            async with pool.session():
                pass
        handle.delay_s = 0

    on_one_slot(scenario)


def test_an_open_that_was_given_up_takes_no_slot_later(on_one_slot):
    async def scenario(pool: RayPool, machine: OneSlot) -> None:
        async with machine.slot:
            with pytest.raises(SandboxError, match="machine"):
                async with pool.session():
                    pass

    on_one_slot(scenario)


def test_an_episode_cancelled_while_it_closes_gives_its_slot_back(on_one_slot):
    async def scenario(pool: RayPool, machine: OneSlot) -> None:
        closing = asyncio.Event()
        machine.close_s = 0.1

        async def episode() -> None:
            async with pool.session():
                asyncio.get_running_loop().call_soon(closing.set)

        running = asyncio.create_task(episode())
        await closing.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        machine.close_s = 0

    on_one_slot(scenario)
