"""One task at the other end of a connection. Its episode begins with the agent's first call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from mcp_types import CallToolResult, Tool

from components.agent.protocols import protocol
from components.browser.tools import SHORT_NAMES, named_tools, parse_arguments
from components.mcp_server.tools import OBSERVE, THOUGHT, page_result, refusal, tool_list
from components.openenv import ActionError, Call, ClientEpisode, EpisodeMaker, ResetRequest, WebAction, WebObservation
from components.records import Record, Task, Termination


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
    calls: int
    """Number of calls of the recipe's tools."""


class TaskSession:
    """A task, and its episode once it has begun. Calls run one after the other, also if they arrive together.

    Args:
        protocol_name: `agent.protocol` of the recipe.
        request: the episode's settings; `screenshot` says whether results have one.
        ended: called once, when the episode has ended or was left.
    """

    def __init__(
        self, task: Task, protocol_name: str, request: ResetRequest, ended: Callable[[EpisodeResult], None]
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

    @property
    def tools(self) -> list[Tool]:
        """What the agent may call."""
        return tool_list(self._tools, self._element_ids)

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """The result of a call. A wrong call is answered with what is wrong, and the page does not change."""
        arguments = dict(arguments)
        thought = arguments.pop(THOUGHT, "") if name != OBSERVE else ""
        if name != OBSERVE:
            try:
                parse_arguments(name, arguments, self._tools)
            except ValueError as error:
                return refusal(f"{name}: {error}")
        async with self._lock:
            try:
                return await self._called(name, arguments, str(thought))
            except ActionError as error:
                return refusal(str(error))
            except Exception as error:  # of opening the browser, such as `EpisodeNotStartedError`
                return refusal(f"the task could not begin: {type(error).__name__}: {error}")

    async def close(self) -> None:
        """End the episode and close its browser."""
        async with self._lock:
            if self._episode is None:
                return
            await self._episode.close()
            if not self._is_over:
                self._over(EpisodeResult(task_id=self.task.task_id, termination=Termination.ABORTED, calls=self._calls))

    async def _called(self, name: str, arguments: dict[str, Any], thought: str) -> CallToolResult:
        if self._episode is None:
            self._episode = (await self.maker).begin(self.task, self._request)
            self._seen(await self._episode.first())
        assert self._last is not None, "the first page was returned or an exception raised"
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
            end = observation.metadata
            self._over(
                EpisodeResult(
                    task_id=self.task.task_id,
                    termination=end["termination"],
                    success=end["success"],
                    reward=observation.reward,
                    answer=end["answer"],
                    rationale=end["rationale"],
                    calls=self._calls,
                )
            )

    def _over(self, result: EpisodeResult) -> None:
        self._is_over = True
        self._tell_end(result)
