"""Browsers on the machines of a Ray cluster (WebGym, appendix B.1): a `BrowserPool` as an actor on each machine.

Prompts, the policy and the journal stay in this process; calls, feedback and observations cross the network. When a
machine dies, only the episodes on its browsers are lost: they raise `SandboxError`, as for a browser that died here,
and run again on another machine. The machine's slots are available again once Ray has restarted the actor.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import time
import warnings
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import replace
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from components.browser import EnvError, Environment, Environments, SandboxError, Site
from components.params import BrowserParams, RolloutParams, TextKind
from components.records import Task
from components.rollout.ray_session import TRANSPORT_LIMIT_S, RemoteSession, WorkerAnswer, first_line

CLUSTER_TIMEOUT_S = 600.0
"""How long episodes wait while no machine of the cluster answers (OpenWebRL, table 7: sandbox acquire)."""
REPAIR_POLL_S = 1.0


class NoWorkersError(RuntimeError):
    """No machine of the cluster can run browsers."""


class BrowserWorker:
    """The actor: one machine's `BrowserPool`. The caller numbers the sessions."""

    def __init__(self, params: BrowserParams, sites: Sequence[Site | None], text: TextKind) -> None:
        from components.browser import open_browsers  # the workers need Playwright; their caller does not

        self._pool = open_browsers(params, sites, text)
        self._started: asyncio.Task[Environments] | None = None
        self._open_sessions: dict[int, tuple[contextlib.AbstractAsyncContextManager[Environment], Environment]] = {}
        self._running: dict[int, asyncio.Task[Any]] = {}

    async def ready(self) -> None:
        """Start the browsers unless they run.

        Raises:
            SandboxError: Chromium could not be started.
            ChromiumNotFoundError: the machine has no Chromium.
        """
        if self._started is None or (self._started.done() and self._started.exception() is not None):
            self._started = asyncio.create_task(self._pool.__aenter__())
        await asyncio.shield(self._started)

    async def ping(self) -> None:
        """Answer at once."""

    async def open(self, number: int, task: Task | None) -> WorkerAnswer:
        """Open session `number` on a free slot, for an episode of this task."""
        return await self._run(number, self._open(number, task))

    async def call(self, number: int, method: str, *arguments: Any) -> WorkerAnswer:
        """Run a method of `Environment` on session `number`."""
        _, session = self._open_sessions[number]
        answer = await self._run(number, getattr(session, method)(*arguments))
        return replace(answer, timings=session.timings, health=session.health, requests=session.requests)

    async def close(self, number: int) -> None:
        """Close session `number` and free its slot, even while an operation runs."""
        if number in self._running:
            self._running[number].cancel()
            await asyncio.wait([self._running[number]])
        if number in self._open_sessions:
            manager, _ = self._open_sessions.pop(number)
            await manager.__aexit__(None, None, None)

    async def stop(self) -> None:
        """Close the browsers."""
        await self._pool.__aexit__()

    async def _open(self, number: int, task: Task | None) -> None:
        await self.ready()
        manager = self._pool.session(task)
        self._open_sessions[number] = manager, await manager.__aenter__()

    async def _run(self, number: int, operation: Coroutine[Any, Any, Any]) -> WorkerAnswer:
        self._running[number] = task = asyncio.create_task(operation)
        try:
            return WorkerAnswer(await task)
        except EnvError as error:
            return WorkerAnswer(error=error)
        finally:
            self._running.pop(number, None)


class RayPool:
    """An async context manager; `session()` waits for a free slot on any machine. See `Environments`.

    Args:
        params: for each machine, which gets `concurrency` slots.
        rollout: names the cluster and the number of workers.
        sites: the sites, not started yet, that each machine serves for itself, one per world; None stands for pages on
            the web.
    """

    def __init__(
        self,
        params: BrowserParams,
        rollout: RolloutParams,
        sites: Sequence[Site | None] = (None,),
        text: TextKind = "none",
    ) -> None:
        self._params = params
        self._rollout = rollout
        self._worker_arguments = (params, list(sites), text)
        self._workers: list[Any] = []
        self._alive: set[int] = set()
        self._last_answer = time.monotonic()
        """When a worker answered last. It is not updated while workers are alive."""
        self._free: asyncio.Queue[int] = asyncio.Queue()
        self._repairs: dict[int, asyncio.Task[None]] = {}
        self._lost_slots: dict[int, int] = {}
        self._numbers = itertools.count()
        self._started_cluster = False

    async def __aenter__(self) -> RayPool:
        await asyncio.to_thread(self._join)
        try:
            options = ray.remote(num_cpus=self._rollout.ray_cpus, max_restarts=-1, scheduling_strategy="SPREAD")
            actor = options(BrowserWorker)
            count = self._rollout.ray_workers or _machine_count()
            self._workers = [actor.remote(*self._worker_arguments) for _ in range(count)]
            for index in range(len(self._workers)):
                self._mark_lost(index, self._params.concurrency)
            await self._wait_for_first_worker()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        for repair in self._repairs.values():
            repair.cancel()
        for index, worker in enumerate(self._workers):
            if index in self._alive:
                with contextlib.suppress(RayError, TimeoutError):
                    async with asyncio.timeout(TRANSPORT_LIMIT_S):
                        await worker.stop.remote()
            ray.kill(worker)
        self._workers = []
        if self._started_cluster:
            await asyncio.to_thread(ray.shutdown)

    @contextlib.asynccontextmanager
    async def session(self, task: Task | None = None) -> AsyncIterator[Environment]:
        """Wait for a free slot on any machine and give a session on it.

        Args:
            task: the episode's task; required if there are several sites.

        Raises:
            SandboxError: the machine was lost, or could not start a browser.
            NoWorkersError: no machine has answered for `CLUSTER_TIMEOUT_S`.
        """
        index = await self._take_slot()
        session = RemoteSession(self._workers[index], next(self._numbers), self._params)
        try:
            await session.open(task)
            yield session
        finally:
            is_usable = False
            try:
                is_usable = await session.close()
            finally:  # the slot is not lost with an episode that is cancelled while it closes
                if is_usable:
                    self._last_answer = time.monotonic()
                    self._free.put_nowait(index)
                else:
                    self._mark_lost(index, 1)

    async def _wait_for_first_worker(self) -> None:
        starting = set(self._repairs.values())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLUSTER_TIMEOUT_S):
                while starting and not self._alive:
                    _, starting = await asyncio.wait(starting, return_when=asyncio.FIRST_COMPLETED)
        if not self._alive:
            raise self._no_workers_error()

    async def _take_slot(self) -> int:
        wait_s = CLUSTER_TIMEOUT_S
        while True:
            try:
                index = await asyncio.wait_for(self._free.get(), wait_s)
                if index not in self._repairs:
                    return index
                self._lost_slots[index] += 1  # its other slots were free when the worker was lost
            except TimeoutError:
                wait_s = CLUSTER_TIMEOUT_S
                if not self._alive:  # a repair may be under way
                    wait_s -= time.monotonic() - self._last_answer
                if wait_s <= 0:
                    raise self._no_workers_error() from None

    def _mark_lost(self, index: int, slots: int) -> None:
        """A worker does not answer: take `slots` of its slots out of use until it does."""
        if self._alive == {index}:
            self._last_answer = time.monotonic()
        self._alive.discard(index)
        self._lost_slots[index] = self._lost_slots.get(index, 0) + slots
        if index not in self._repairs:
            self._repairs[index] = asyncio.create_task(self._repair(index))

    def _no_workers_error(self) -> Exception:
        for repair in self._repairs.values():
            if repair.done() and (error := repair.exception()) is not None:
                return NoWorkersError(f"a machine of the Ray cluster has no browser: {first_line(error)}")
        return NoWorkersError(
            f"no machine of the Ray cluster has answered for {CLUSTER_TIMEOUT_S:.0f} s, or none has "
            f"{self._rollout.ray_cpus:g} CPUs free (rollout.ray_cpus); look at `ray status`"
        )

    async def _repair(self, index: int) -> None:
        """Wait until the worker answers, then free its lost slots. Permanent errors, such as a missing Chromium, are
        raised."""
        while True:
            try:
                async with asyncio.timeout(CLUSTER_TIMEOUT_S):
                    await self._workers[index].ready.remote()
                    break
            except RayTaskError as error:
                if not isinstance(error.cause, SandboxError):
                    warnings.warn(
                        f"machine {index} of the Ray cluster gets no browsers in this stage: {error.cause}; correct "
                        "the cause there and start the stage again to use it",
                        stacklevel=1,
                    )
                    raise
            except (RayError, TimeoutError):
                pass
            await asyncio.sleep(REPAIR_POLL_S)
        self._alive.add(index)
        del self._repairs[index]
        for _ in range(self._lost_slots.pop(index)):
            self._free.put_nowait(index)

    def _join(self) -> None:
        """Join the recipe's cluster. Without one, join the cluster that this process is in (`RAY_ADDRESS` names it), or
        start one on this machine. Ray itself would join any cluster that runs on this machine."""
        if ray.is_initialized():
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(
            address=self._rollout.ray_address or os.environ.get("RAY_ADDRESS") or "local",
            include_dashboard=False if self._rollout.ray_address is None else None,
            log_to_driver=False,
            logging_level=logging.ERROR,  # hides the warning that no signal handler is set outside of the main thread
        )
        self._started_cluster = True


def _machine_count() -> int:
    return max(1, sum(node["Alive"] and node["Resources"].get("CPU", 0) > 0 for node in ray.nodes()))
