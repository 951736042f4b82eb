"""One task at the other end of a connection. Its episode begins with the agent's first call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from mcp_types import CallToolResult, Tool

from components.agent.protocols import protocol
from components.browser.tools import SHORT_NAMES, named_tools, parse_arguments
from components.mcp_server.tools import MAX_THOUGHT, OBSERVE, THOUGHT, page_result, refusal, tool_list
from components.openenv import ActionError, Call, ClientEpisode, EpisodeMaker, ResetRequest, WebAction, WebObservation
from components.records import Record, Task, Termination, Trajectory


class EpisodeResult(Record):
    """How an episode ended."""

    task_id: str
    termination: str
    """As `components.records.Termination`; `aborted` if the agent left before the end."""
    success: bool | None = None
    """None if the episode says nothing about the agent, because the environment ended it, no rule could judge it, or
    the agent left before the end."""
    reward: float | None = None
    """As in RL with rewards by rules; None where `success` is."""
    answer: str | None = None
    rationale: str | None = None
    """The rule's, or the environment's error."""
    missing: list[str] | None = None
    """Expected effects that are not there; None without a world with state."""
    side_effects: list[str] | None = None
    """Changes that were not asked for; None without a world with state."""
    calls: int
    """Number of calls of the recipe's tools, `done` and failed ones among them."""
    policy: str
    trajectory_id: str | None = None
    """Of the recorded trajectory; None if the agent made no call."""


class TaskSession:
    """A task, and its episode once it has begun. Calls run one after the other, also if they arrive together.

    Args:
        protocol_name: `agent.protocol` of the recipe.
        request: the episode's settings; `screenshot` says whether results have one.
        ended: called once, when the episode has ended or was left, with its trajectory if there is one.
    """

    def __init__(
        self,
        task: Task,
        protocol_name: str,
        request: ResetRequest,
        ended: Callable[[EpisodeResult, Trajectory | None], None],
    ) -> None:
        self.task = task
        self.maker: asyncio.Future[EpisodeMaker] = asyncio.get_running_loop().create_future()
        """Begins the episode. Calls wait for it, so that a client is answered while browsers start."""
        self._request = request
        self._tell_end = ended
        self._element_ids = protocol(protocol_name).element_ids
        self._tools = named_tools(self._element_ids)
        self._lock = asyncio.Lock()
        self._episode: ClientEpisode | None = None
        self._last: WebObservation | None = None
        self._calls = 0
        self._is_over = False
        self._running: set[asyncio.Task[CallToolResult]] = set()

    @property
    def tools(self) -> list[Tool]:
        """What the agent may call."""
        return tool_list(self._tools, self._element_ids)

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """The result of a call. A wrong call is answered with what is wrong, and the page does not change.

        If the client stops waiting, the call runs to its end all the same, so that later calls get their own results.
        """
        arguments = dict(arguments)
        thought = str(arguments.pop(THOUGHT, "")) if name != OBSERVE else ""
        if name != OBSERVE:
            try:
                parse_arguments(name, arguments, self._tools)
            except ValueError as error:
                return refusal(f"{name}: {error}")
            if len(thought) > MAX_THOUGHT:
                return refusal(f"{name}: {THOUGHT} has {len(thought)} characters: at most {MAX_THOUGHT} are possible")
        running = asyncio.create_task(self._in_turn(name, arguments, thought))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return await asyncio.shield(running)

    async def close(self) -> None:
        """End the call that runs, then the episode, and close its browser."""
        running = [*self._running]
        for call in running:
            call.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self._episode is not None:
            await self._episode.close()
        if not self._is_over:
            self._over(self._result(termination=Termination.ABORTED))

    async def _in_turn(self, name: str, arguments: dict[str, Any], thought: str) -> CallToolResult:
        async with self._lock:
            try:
                return await self._called(name, arguments, thought)
            except ActionError as error:
                return refusal(str(error))
            except Exception as error:  # of opening the browser, such as `EpisodeNotStartedError`
                return refusal(f"{'the call failed' if self._last else 'the task could not begin'}: {error}")

    async def _called(self, name: str, arguments: dict[str, Any], thought: str) -> CallToolResult:
        if self._last is None:  # also after a try that failed
            self._episode = (await asyncio.shield(self.maker)).begin(self.task, self._request)
            self._seen(await self._episode.first())
        assert self._episode is not None
        assert self._last is not None, "the first page came, or an exception was raised"
        if name == OBSERVE:
            return page_result(self._last, with_task=True)
        if self._is_over:
            raise ActionError("the task has ended; the next one begins with a new server")
        canonical = SHORT_NAMES.get(name, name) if self._element_ids else name
        self._calls += 1
        calls = [Call(name=canonical, arguments=arguments)]
        self._seen(await self._episode.act(WebAction(calls=calls, thought=thought)))
        return page_result(self._last, with_task=False)

    def _seen(self, observation: WebObservation) -> None:
        self._last = observation
        if observation.done:
            end = {key: value for key, value in observation.metadata.items() if key != "task_id"}
            self._over(self._result(reward=observation.reward, **end))

    def _result(self, **end: Any) -> EpisodeResult:
        if self._episode is not None:
            end["trajectory_id"] = self._episode.trajectory_id
        return EpisodeResult(task_id=self.task.task_id, calls=self._calls, policy=self._request.policy, **end)

    def _over(self, result: EpisodeResult) -> None:
        self._is_over = True
        self._tell_end(result, self._episode.trajectory if self._episode is not None else None)
