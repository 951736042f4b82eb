"""Episodes for the tests of judges, and the browser of those that play one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from components.browser import BrowserPool
from components.params import BrowserParams, EgressParams
from components.records import Image, Observation, Task, Termination, ToolCall, Trajectory, Turn

BROWSER = BrowserParams(
    viewport=(800, 600),
    concurrency=1,
    start_timeout_s=20,
    step_timeout_s=20,
    navigation_retries=0,
    egress=EgressParams(private_hosts=["127.0.0.1"]),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[tuple[asyncio.Runner, BrowserPool]]:
    with asyncio.Runner() as runner:
        pool = BrowserPool(BROWSER, text="elements")
        runner.run(pool.__aenter__())
        yield runner, pool
        runner.run(pool.__aexit__())


def page(content: str) -> Observation:
    return Observation(url="http://miniwob/x.html", tabs=[], viewport=(160, 210), screenshot=Image.of(content.encode()))


@pytest.fixture
def episode() -> Callable[..., Trajectory]:
    """Make an episode with one turn per list of feedback strings. The screenshot of turn i is `page i`."""

    def make(
        *feedback: list[str],
        intent: str = 'Click on the "ok" button.',
        termination: Termination = Termination.DONE,
        answer: str | None = "done",
        site_reward: float | None = 1.0,
        parse_error: str | None = None,
        evaluator: dict | None = None,
        screenshots: list[str] | None = None,
    ) -> Trajectory:
        turns = [
            Turn(
                index=index,
                observation=page(screenshots[index] if screenshots else f"page {index}"),
                prompt_sha256="",
                prompt_tokens=1,
                response="x",
                token_ids=[1],
                logprobs=[0.0],
                finish_reason="stop",
                tool_calls=[ToolCall(name="click", arguments={"x": 512, "y": 86}) for _ in lines],
                feedback=lines,
                parse_error=parse_error if index == len(feedback) - 1 else None,
            )
            for index, lines in enumerate(feedback)
        ]
        return Trajectory(
            trajectory_id="t",
            task=Task(
                task_id="miniwob/click-button/5",
                intent=intent,
                start_url="http://miniwob/click-button.html",
                website="miniwob/click-button",
                source="miniwob",
                evaluator={"type": "site_reward"} if evaluator is None else evaluator,
                seed=5,
            ),
            attempt=0,
            policy="p",
            protocol="openwebrl",
            seed=0,
            turns=turns,
            termination=termination,
            answer=answer,
            site_reward=site_reward,
            final_screenshot=page("the end").screenshot,
        )

    return make
