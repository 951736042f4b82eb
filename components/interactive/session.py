"""The browser of a watched episode: a `Session` that asks before it leaves its hosts and that may be recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from components.browser import EnvInitError, Placed, Session, StepResult
from components.interactive.leaving import HostGate
from components.interactive.screencast import Screencast
from components.records import Observation, Probe, Reading, StateCheck, Task, ToolCall


class WatchedSession:
    """An `Environment`.

    Args:
        session: the episode's browser.
        gate: the hosts of the run; None for the pages of a world, which reach no other host anyway.
        screencast: the recording; None if there is none.
    """

    def __init__(self, session: Session, gate: HostGate | None, screencast: Screencast | None) -> None:
        self.last: Observation | None = None
        """The observation that the last `start` or `step` returned."""
        self._session = session
        self._gate = gate
        self._screencast = screencast

    @property
    def timings(self) -> dict[str, float]:
        """See `Environment`."""
        return self._session.timings

    @property
    def requests(self) -> int:
        """See `Environment`."""
        return self._session.requests

    @property
    def health(self) -> dict[str, float]:
        """See `Environment`."""
        return self._session.health

    async def start(self, task: Task) -> Observation:
        """Open the first page. If it leads to other hosts, or loads files from others, the person is asked.

        Raises: as `Session.start`.
        """
        if self._gate is not None:
            await self._gate.watch(self._session.page.context)
        while True:  # until a host is refused: each attempt stops at one that is not allowed yet
            try:
                observation = await self._session.start(task)
                break
            except EnvInitError:
                if self._gate is None or not await self._gate.allow_start():
                    raise
        if self._gate is not None and await self._gate.allow_files():
            observation = await self._session.start(task)
        return await self._seen(observation)

    async def step(self, calls: Sequence[ToolCall]) -> StepResult:
        """Run the calls of a turn. What the person decided about other hosts is in the last line of feedback.

        Raises: as `Session.step`.
        """
        if self._gate is None:
            result = await self._session.step(calls)
        else:
            result = await self._session.step(await self._gate.permitted(calls, self._session.absolute))
            decision = await self._gate.settle(self._session.page)
            if decision:
                feedback = [*result.feedback[:-1], f"{result.feedback[-1]} {decision}" if calls else decision]
                observation = (await self._session.step([])).observation
                result = replace(result, feedback=feedback, observation=observation)
        await self._seen(result.observation)
        return result

    async def site_reward(self) -> float | None:
        """See `Environment`."""
        return await self._session.site_reward()

    async def check_state(self) -> StateCheck | None:
        """See `Environment`."""
        return await self._session.check_state()

    async def read(self, probe: Probe) -> Reading:
        """See `Environment`."""
        return await self._session.read(probe)

    async def oracle(self) -> str:
        """See `Session.shown`: a person answers dialogs."""
        return await self._session.shown()

    async def oracle_elements(self) -> list[Placed]:
        """See `Environment`; for a person who teaches."""
        return await self._session.oracle_elements()

    async def _seen(self, observation: Observation) -> Observation:
        self.last = observation
        if self._screencast is not None:
            self._screencast.add(observation.screenshot.data)
            await self._screencast.follow(self._session.tabs.active)
        return observation
