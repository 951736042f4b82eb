"""The session of a task: calls that a client no longer waits for, and what tools and results say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp_types import TextContent

from components.browser.tools import named_tools
from components.mcp_server import EpisodeResult, TaskSession
from components.mcp_server.tools import MAX_THOUGHT, page_result, tool_list
from components.openenv import ResetRequest, WebAction, WebObservation
from components.records import Termination
from tests.samples import a_task


def page(text: str, **fields: Any) -> WebObservation:
    return WebObservation(instruction="Do it", url="http://site/", text=text, **fields)


class Episode:
    """An episode whose pages come when they are released."""

    trajectory_id = "an id"
    trajectory = None

    def __init__(self) -> None:
        self.released = asyncio.Event()
        self.calls: list[str] = []
        self.is_closed = False
        self.failures: list[str] = []

    def begin(self, *_: object) -> Episode:
        return self

    async def first(self) -> WebObservation:
        await self.released.wait()
        if self.failures:
            raise OSError(self.failures.pop())
        return page("start")

    async def act(self, action: WebAction) -> WebObservation:
        await self.released.wait()
        self.calls.append(action.calls[0].name)
        return page(f"after {action.calls[0].name}")

    async def close(self) -> None:
        self.is_closed = True


def played(play: Any) -> tuple[Episode, list[EpisodeResult], list[str]]:
    """The episode, its results, and what `play` returns."""

    async def main() -> tuple[Episode, list[EpisodeResult], list[str]]:
        episode, results = Episode(), []
        session = TaskSession(a_task(), "openwebrl", ResetRequest(), lambda result, _: results.append(result))
        session.maker.set_result(episode)  # type: ignore[arg-type] # it begins episodes
        answers = await asyncio.wait_for(play(session, episode), 10)
        await session.close()
        return episode, results, answers

    return asyncio.run(main())


async def text(session: TaskSession, name: str, **arguments: Any) -> str:
    part = (await session.call(name, arguments)).content[0]
    assert isinstance(part, TextContent)
    return part.text


def test_a_call_that_the_client_gave_up_does_not_shift_later_results() -> None:
    async def play(session: TaskSession, episode: Episode) -> list[str]:
        for name in ("observe", "go_back"):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(session.call(name, {}), 0.01)
        episode.released.set()
        return [await text(session, "wait", seconds=0), await text(session, "observe")]

    episode, results, answers = played(play)
    assert episode.calls == ["go_back", "wait"]
    assert all(answer.endswith("after wait") for answer in answers)
    assert [(result.termination, result.calls) for result in results] == [(Termination.ABORTED, 2)]


def test_closing_does_not_wait_for_a_call() -> None:
    async def play(session: TaskSession, episode: Episode) -> list[str]:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.call("observe", {}), 0.01)
        return []

    episode, results, _ = played(play)
    assert episode.is_closed
    assert [result.trajectory_id for result in results] == ["an id"]


def test_a_task_that_could_not_begin_can_be_tried_again() -> None:
    async def play(session: TaskSession, episode: Episode) -> list[str]:
        episode.failures, _ = ["no memory for a browser"], episode.released.set()
        return [await text(session, "observe"), await text(session, "observe")]

    _, _, answers = played(play)
    assert answers[0] == "the task could not begin: no memory for a browser"
    assert answers[1].endswith("start")


def test_a_long_thought_is_refused() -> None:
    async def play(session: TaskSession, episode: Episode) -> list[str]:
        episode.released.set()
        return [await text(session, "go_back", thought="x" * (MAX_THOUGHT + 1))]

    episode, _, answers = played(play)
    assert (episode.calls, answers) == ([], ["go_back: thought has 2001 characters: at most 2000 are possible"])


@pytest.mark.parametrize("element_ids", [True, False])
def test_tools_say_what_an_agent_must_know(element_ids: bool) -> None:
    tools = {tool.name: tool for tool in tool_list(named_tools(element_ids), element_ids)}
    descriptions = {name: tool.description or "" for name, tool in tools.items()}
    assert ("Coordinates are 0 to 1000" in descriptions["click"]) is not element_ids
    assert ("`element` is an id" in descriptions["click"]) is element_ids
    assert ("Click the field first" in descriptions["write"]) is not element_ids
    assert ("x" in tools["scroll"].input_schema["properties"]) is not element_ids
    assert '"Enter"' in descriptions["press_keys"]
    assert all("extension" not in str(tool.input_schema) for tool in tools.values())


def test_a_task_that_the_environment_ended_is_an_error_with_its_reason() -> None:
    end = {"termination": "env_init_error", "rationale": "the server cannot be reached"}
    result = page_result(page("", done=True, metadata=end), with_task=False)
    assert result.is_error
    part = result.content[0]
    assert isinstance(part, TextContent)
    assert "The task has ended: env_init_error (the server cannot be reached)" in part.text
