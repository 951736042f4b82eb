"""An episode's browser on another machine, as its caller sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ray.exceptions import RayError, RayTaskError

from components.browser import ChromiumNotFoundError, EnvError, Placed, SandboxError, StepResult
from components.params import BrowserParams
from components.records import Observation, Probe, Reading, StateCheck, Task, ToolCall

TRANSPORT_LIMIT_S = 15.0
"""Time for the way to a machine and back, in addition to the operation's own limit. A machine that is asked whether it
answers has this time, too."""
OPEN_LIMIT_S = 150.0
"""For opening a session on a free slot. It may start a browser first, with two attempts."""


@dataclass(frozen=True)
class WorkerAnswer:
    """The result of an operation on a worker: its value or its error, and the session's state afterwards."""

    value: Any = None
    error: EnvError | None = None
    timings: dict[str, float] = field(default_factory=dict)
    health: dict[str, float] = field(default_factory=dict)
    requests: int = 0


class RemoteSession:
    """An `Environment` on a worker.

    Its methods raise what `Session` raises, and `SandboxError` if the machine was lost. The worker alone enforces the
    limits of operations, because only it knows how long they waited in its queues (`browser.queues`). An operation that
    is late is given up once the machine does not answer.

    Args:
        worker: handle of the actor (`BrowserWorker`).
        number: identifies the session on the worker.
    """

    def __init__(self, worker: Any, number: int, params: BrowserParams) -> None:
        self.timings: dict[str, float] = {}
        self.health: dict[str, float] = {}
        self.requests = 0
        self._worker_lost = False
        self._worker = worker
        self._number = number
        self._params = params

    async def open(self, task: Task | None) -> None:
        """Take a slot of the worker for an episode of this task.

        Raises:
            SandboxError: the machine was lost, or could not start a browser.
        """
        answer = await self._request(OPEN_LIMIT_S, False, self._worker.open, self._number, task)
        if answer.error is not None:
            raise answer.error

    async def close(self) -> bool:
        """Free the slot. Returns whether the machine answered all requests and can serve another episode.

        The worker is told in any case: one that was taken for lost may only be slow, and it would keep the session and
        its slot. A request to open, which waits there for a slot, ends with it.
        """
        is_closed = await asyncio.shield(answered(self._worker.close.remote(self._number)))
        return is_closed and not self._worker_lost

    async def start(self, task: Task) -> Observation:
        """Open the task's start page."""
        return await self._call(self._params.start_timeout_s, "start", task)

    async def step(self, calls: Sequence[ToolCall]) -> StepResult:
        """Run a turn's calls."""
        return await self._call(self._params.step_timeout_s, "step", list(calls))

    async def site_reward(self) -> float | None:
        """The raw reward of the episode; None where pages tell none."""
        return await self._call(self._params.step_timeout_s, "site_reward")

    async def check_state(self) -> StateCheck | None:
        """What the episode changed; None where the site has no state."""
        return await self._call(self._params.step_timeout_s, "check_state")

    async def read(self, probe: Probe) -> Reading:
        """Read a page for the task's rule."""
        return await self._call(self._params.start_timeout_s, "read", probe)

    async def oracle(self) -> str:
        """The element list, for a scripted teacher."""
        return await self._call(self._params.step_timeout_s, "oracle")

    async def oracle_elements(self) -> list[Placed]:
        """The accessible elements, for a scripted teacher."""
        return await self._call(self._params.step_timeout_s, "oracle_elements")

    async def _call(self, limit_s: float, method: str, *arguments: Any) -> Any:
        answer = await self._request(limit_s, True, self._worker.call, self._number, method, *arguments)
        self.timings, self.health, self.requests = answer.timings, answer.health, answer.requests
        if answer.error is not None:
            raise answer.error
        return answer.value

    async def _request(self, limit_s: float, may_be_late: bool, method: Any, *arguments: Any) -> WorkerAnswer:
        """Send a request to the worker.

        Args:
            limit_s: after this time the machine is lost, unless the request may be late and the machine answers.
        """
        request: asyncio.Future[WorkerAnswer] = asyncio.ensure_future(method.remote(*arguments))
        try:
            while True:
                await asyncio.wait([request], timeout=limit_s + TRANSPORT_LIMIT_S)
                if request.done():
                    return request.result()
                if not (may_be_late and await answered(self._worker.ping.remote())):
                    raise TimeoutError("it does not answer")
        except (RayError, TimeoutError) as error:
            cause = error.cause if isinstance(error, RayTaskError) else None
            if isinstance(cause, ChromiumNotFoundError):
                raise cause from None
            self._worker_lost = True
            raise SandboxError(f"the machine with the browser was lost: {first_line(error)}") from error
        finally:
            request.cancel()


async def answered(request: Awaitable[Any]) -> bool:
    """Whether a worker answers a request in time and without an error."""
    try:
        async with asyncio.timeout(TRANSPORT_LIMIT_S):
            await request
    except (RayError, TimeoutError):
        return False
    return True


def first_line(error: BaseException) -> str:
    """The first line of an error's message; of a failed Ray task, of its cause."""
    error = error.cause if isinstance(error, RayTaskError) else error
    return (str(error).strip() or type(error).__name__).splitlines()[0]
