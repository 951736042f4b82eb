"""What a pool does so that it can run for days: spare contexts, worn-out browsers, queues, births that go wrong."""

import asyncio
import os
import signal
import time

import pytest

from components.browser import BrowserPool, EnvError, pool
from components.params import QueueParams

from .conftest import task
from .test_pool import BIG, CLICK, PARAMS, browsers, main_processes

TWO = PARAMS.model_copy(update={"concurrency": 2})


async def number_is(wanted: int) -> bool:
    """Whether there are so many browsers, soon: a process that is being forked looks like its parent."""
    end = time.monotonic() + 15
    while len(main_processes(browsers(os.getpid()))) != wanted and time.monotonic() < end:
        await asyncio.sleep(0.1)
    return len(main_processes(browsers(os.getpid()))) == wanted


async def visit(opened: BrowserPool, url: str) -> None:
    async with opened.session() as session:
        await session.start(task(url))
        await session.step(CLICK)


@pytest.mark.slow
def test_a_browser_that_dies_while_pages_open_blocks_no_episode(pages, monkeypatch):
    monkeypatch.setattr(pool, "OPEN_TIMEOUT_S", 1000.0)
    url = pages.add("/a", BIG.format(""))

    async def scenario():
        async with BrowserPool(PARAMS.model_copy(update={"concurrency": 4})) as opened:

            async def kill():
                for _ in range(3):
                    await asyncio.sleep(0.05)
                    while not (running := main_processes(browsers(os.getpid()))):  # a new one starts
                        await asyncio.sleep(0.05)
                    os.kill(running[0], signal.SIGKILL)
                    await asyncio.sleep(2)

            async def episodes():
                for _ in range(4):
                    try:
                        await visit(opened, url)
                    except EnvError:
                        await asyncio.sleep(0.3)

            async with asyncio.timeout(60):
                await asyncio.gather(kill(), *(episodes() for _ in range(4)))
            await visit(opened, url)

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_worn_out_browser_is_replaced_and_closes_after_its_last_episode(pages, monkeypatch):
    monkeypatch.setattr(pool, "EPISODES_PER_BROWSER", 3)
    url = pages.add("/a", BIG.format(""))

    async def scenario():
        async with BrowserPool(TWO) as opened:
            async with opened.session() as long_one:
                await long_one.start(task(url))
                first = main_processes(browsers(os.getpid()))
                for _ in range(4):
                    await visit(opened, url)
                assert await number_is(2), "the first browser has an episode yet"
                await long_one.step(CLICK)
            assert await number_is(1)
            assert main_processes(browsers(os.getpid())) != first

    asyncio.run(scenario())


def test_the_next_context_is_made_in_advance_and_is_clean(pages):
    url = pages.add(
        "/a", "<script>document.title = document.cookie || 'new here'; document.cookie = 'seen=yes'</script>"
    )

    async def scenario():
        titles, used, ahead = [], [], []
        async with BrowserPool(TWO) as opened:
            for _ in range(4):
                async with opened.session() as session:
                    titles.append((await session.start(task(url))).tabs[0].title)
                    used.append(session.page.context)
                    async with asyncio.timeout(10):
                        while not opened._current.spares:
                            await asyncio.sleep(0.01)
                    ahead.append(opened._current.spares[-1][0])
        assert titles == ["new here"] * 4
        assert used[1:] == ahead[:-1]
        assert len(set(used)) == 4

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_queue_bounds_steps_at_once_and_its_waits_are_not_step_time(pages):
    """Each turn takes 1.5 s, each step may take 4 s: six in a queue for one at a time end well."""
    url = pages.add("/busy", BIG.format("const end = Date.now() + 1500; while (Date.now() < end);"))
    params = PARAMS.model_copy(update={"concurrency": 6, "queues": QueueParams(act=1)})

    async def scenario():
        async with BrowserPool(params) as opened:

            async def episode():
                async with opened.session() as session:
                    await session.start(task(url))
                    await session.step(CLICK)
                    return session.timings

            began = time.monotonic()
            timings = await asyncio.gather(*(episode() for _ in range(6)))
            took = time.monotonic() - began
        waited = sorted(one["queue"] for one in timings)
        assert took > 6 * 1.5, "they did not stand in line"
        assert waited[0] < 1.0
        assert waited[-1] > 4.0 + 1.0, "the last one waited longer than a step may take"

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_failure_reports_the_health_of_the_browser(pages):
    async def scenario():
        async with BrowserPool(PARAMS) as opened, opened.session() as session:
            await session.start(task(pages.add("/hang", BIG.format("while(true);"))))
            assert session.health == {}
            with pytest.raises(EnvError):
                await session.step(CLICK)
            return session.health

    health = asyncio.run(scenario())
    assert health["browser_uptime_s"] > 4.0, "the step alone took so long"
    assert health["browser_memory_mib"] > 50
    assert health["free_memory_mib"] > 50
