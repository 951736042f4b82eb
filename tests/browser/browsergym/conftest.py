"""One browser for the cases of a module."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from components.browser import BrowserPool
from tests.browser.browsergym.agent import Agent, Run
from tests.browser.conftest import PARAMS, task


@pytest.fixture(scope="module")
def run(pages) -> Iterator[Run]:
    """`run(body, way, play)` opens a page with that body and runs `await play(agent)`."""
    with asyncio.Runner() as runner:
        pool = BrowserPool(PARAMS.model_copy(update={"quiet_ms": 50, "step_timeout_s": 8}), text="axtree")
        runner.run(pool.__aenter__())

        def visit(body: str, way: str, play: Callable[[Agent], Awaitable[None]]) -> None:
            async def episode() -> None:
                async with pool.session() as session:
                    observation = await session.start(task(pages.add("/case", body)))
                    await play(Agent(session, observation, way))

            runner.run(episode())

        yield visit
        runner.run(pool.__aexit__())
