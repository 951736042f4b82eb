"""What counts as an answer's time, and what does not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from components.agent import Completion, EpisodeSettings, EpisodeSpec, Renderer, Request, format_call, format_response
from components.agent.loop import run_episode
from components.agent.policy import RequestClock
from components.records import Termination
from tests.agent.test_billing import Page
from tests.samples import a_task, recipe


class Takes:
    """Answers after it has done something with the clock."""

    version = "slow"

    def __init__(self, first: Callable[[RequestClock], Awaitable[None]]) -> None:
        self._first = first

    def prompt_tokens(self, prompt: object) -> int:
        return 10

    async def complete(self, request: Request) -> Completion:
        await self._first(request.clock)
        return Completion([], [], format_response("Go on.", [format_call("wait", seconds=0)]), "stop")


async def waits_for_somebody_to_answer(clock: RequestClock) -> None:
    with clock.stopped():
        await asyncio.sleep(3.5)
    await asyncio.sleep(0.2)


async def is_asked_again_where_it_was_given_up(clock: RequestClock) -> None:
    for _ in range(3):
        asked = asyncio.get_running_loop().time()
        await asyncio.sleep(1.2)
        with clock.stopped(since=asked):
            await asyncio.sleep(0)


async def takes_too_long_after_a_wait(clock: RequestClock) -> None:
    with clock.stopped():
        await asyncio.sleep(0.1)
    await asyncio.sleep(10)


async def never_answers(clock: RequestClock) -> None:
    await asyncio.sleep(10)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "first, inference_s, task_s, ending",
    [
        (waits_for_somebody_to_answer, 2.5, 3.0, Termination.MAX_STEPS),
        (is_asked_again_where_it_was_given_up, 2.5, 3.0, Termination.MAX_STEPS),
        (takes_too_long_after_a_wait, 0.2, 5.0, Termination.INFERENCE_TIMEOUT),
        (takes_too_long_after_a_wait, 5.0, 0.2, Termination.TASK_TIMEOUT),
        (never_answers, 0.2, 5.0, Termination.INFERENCE_TIMEOUT),
    ],
)
def test_waiting_for_a_server_does_not_count_against_the_task_limit(first, inference_s, task_s, ending):
    params = recipe()
    agent = params.agent.model_copy(update={"inference_timeout_s": inference_s, "task_timeout_s": task_s})
    rendered = Renderer(agent, params.observation, params.model.think_prefix)
    settings = EpisodeSettings(rendered, agent, params.evaluation.sampling, 2, agent.max_response_tokens)
    done = asyncio.run(run_episode(EpisodeSpec(a_task(), 0, "slow", 0), Page(), Takes(first), settings))
    assert done.termination is ending


def test_a_stopped_clock_adds_no_limit_and_revives_no_expired_one():
    async def main() -> None:
        async with asyncio.timeout(None) as unlimited:
            with RequestClock(unlimited).stopped():
                await asyncio.sleep(0)
        assert unlimited.when() is None
        async with asyncio.timeout(0) as limit:
            try:
                await asyncio.sleep(10)
            finally:
                with RequestClock(limit).stopped():
                    pass

    with pytest.raises(TimeoutError):
        asyncio.run(main())
