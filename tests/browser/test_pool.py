"""Browsers die and pages hang; the pool goes on, and nothing is left behind."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from components.browser import (
    BrowserPool,
    ChromiumNotFoundError,
    EnvError,
    EnvInitError,
    SandboxError,
    check_call,
    find_chromium,
)
from components.params import BrowserParams

from .conftest import LOOPBACK, task

PARAMS = BrowserParams(
    viewport=(300, 200), concurrency=1, start_timeout_s=30, step_timeout_s=4, settle_ms=300, egress=LOOPBACK
)
CLICK = [check_call("click", {"x": 500, "y": 500})]
BIG = '<button style="width:300px;height:200px" onclick="{}">b</button>'


def browsers(ancestor: int) -> list[int]:
    """Ids of the Chromium processes below a process."""
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            except OSError:
                continue
            if rest.split()[0] != "Z":
                parents[int(entry.name)], names[int(entry.name)] = int(rest.split()[1]), name

    def below(pid: int) -> bool:
        while pid in parents and pid > 1:
            if pid == ancestor:
                return True
            pid = parents[pid]
        return False

    return [pid for pid in parents if pid != ancestor and below(pid) and "chrom" in names[pid]]


def main_processes(pids: list[int]) -> list[int]:
    """Those of them that are whole browsers, not their helpers. One that has ended meanwhile is left out."""
    whole = []
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if b"--type=" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                whole.append(pid)
    return whole


def main_process(pids: list[int]) -> int:
    return main_processes(pids)[0]


def test_a_killed_browser_is_a_sandbox_error_and_is_replaced(pages):
    async def scenario():
        async with BrowserPool(PARAMS) as pool:
            url = pages.add("/a", BIG.format(""))
            async with pool.session() as session:
                await session.start(task(url))
                os.kill(main_process(browsers(os.getpid())), signal.SIGKILL)
                with pytest.raises(SandboxError):
                    await session.step(CLICK)
            async with pool.session() as session:
                assert (await session.start(task(url))).url == url

    asyncio.run(scenario())


def test_a_browser_that_dies_while_the_teacher_looks_is_a_sandbox_error(pages):
    async def scenario():
        async with BrowserPool(PARAMS) as pool, pool.session() as session:
            await session.start(task(pages.add("/a", BIG.format(""))))
            os.kill(main_process(browsers(os.getpid())), signal.SIGKILL)
            with pytest.raises(SandboxError):
                await session.oracle()

    asyncio.run(scenario())


def test_a_crashed_renderer_is_a_sandbox_error_and_the_next_episode_works(pages):
    async def scenario():
        async with BrowserPool(PARAMS) as pool:
            url = pages.add("/a", BIG.format(""))
            async with pool.session() as session:
                await session.start(task(url))
                with pytest.raises(Exception, match="crash"):
                    await session.page.goto("chrome://crash")
                with pytest.raises(SandboxError):
                    await session.step(CLICK)
            async with pool.session() as session:
                assert (await session.start(task(url))).url == url

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_page_that_hangs_in_a_step_is_an_env_error_within_its_limit(pages):
    async def scenario():
        async with BrowserPool(PARAMS) as pool:
            async with pool.session() as session:
                await session.start(task(pages.add("/hang", BIG.format("while(true);"))))
                begin = time.monotonic()
                with pytest.raises(EnvError, match="took longer than 4 s"):
                    await session.step(CLICK)
                assert time.monotonic() - begin < 8
            async with pool.session() as session:
                await session.start(task(pages.add("/a", BIG.format(""))))

    asyncio.run(scenario())


def test_a_page_that_hangs_at_the_start_is_an_init_error_within_its_limit(pages):
    async def scenario():
        params = PARAMS.model_copy(update={"start_timeout_s": 3.0, "navigation_retries": 0})
        async with BrowserPool(params) as pool, pool.session() as session:
            with pytest.raises(EnvInitError):
                await session.start(task(pages.add("/hang", "<script>while(true);</script>")))

    asyncio.run(scenario())


def test_a_session_waits_for_a_free_slot(pages):
    async def scenario():
        order = []
        async with BrowserPool(PARAMS) as pool:

            async def episode(name):
                async with pool.session() as session:
                    order.append(f"{name} in")
                    await session.start(task(pages.add("/a", "x")))
                    order.append(f"{name} out")

            await asyncio.gather(episode("a"), episode("b"))
        assert order == ["a in", "a out", "b in", "b out"]

    asyncio.run(scenario())


def test_nothing_is_left_running_after_the_pool_closes(pages):
    async def scenario():
        async with BrowserPool(PARAMS) as pool, pool.session() as session:
            await session.start(task(pages.add("/a", "x")))
            assert browsers(os.getpid())

    asyncio.run(scenario())
    assert gone(lambda: browsers(os.getpid()))


def test_nothing_is_left_running_after_the_process_is_killed(pages, tmp_path):
    url = pages.add("/a", "x")
    script = tmp_path / "child.py"
    script.write_text(
        "import asyncio\n"
        "from components.browser import BrowserPool\n"
        "from components.params import BrowserParams, EgressParams\n"
        "from components.records import Task\n"
        "async def main():\n"
        "    params = BrowserParams(concurrency=1, egress=EgressParams(private_hosts=['127.0.0.1']))\n"
        "    async with BrowserPool(params) as pool, pool.session() as session:\n"
        f"        await session.start(Task(task_id='t', intent='i', start_url='{url}', website='w', source='s'))\n"
        "        print('open', flush=True)\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).parents[2]
    child = subprocess.Popen(
        [sys.executable, str(script)], cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"open\n"
    pids = browsers(child.pid)
    child.kill()
    child.wait()
    child.stdout.close()
    assert pids
    assert gone(lambda: [pid for pid in pids if alive(pid)])


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(left) -> bool:
    end = time.monotonic() + 15
    while left() and time.monotonic() < end:
        time.sleep(0.1)
    return not left()


def test_an_agent_may_wait_longer_than_a_step_may_take(pages):
    async def scenario():
        async with BrowserPool(PARAMS) as pool, pool.session() as session:
            await session.start(task(pages.add("/a", "still")))
            waits = [check_call("wait", {"seconds": 30}), check_call("wait", {"seconds": 30})]
            return (await session.step(waits)).feedback

    lines = asyncio.run(scenario())
    assert len(lines) == 2
    assert all(line.startswith("Succeed: `wait` ") for line in lines)


def test_a_failure_on_a_browser_whose_program_is_gone_says_so(pages, tmp_path, monkeypatch):
    program = tmp_path / "chromium"
    program.write_text(f'#!/bin/sh\nexec {find_chromium()} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("WAYMARK_CHROMIUM", str(program))

    async def scenario():
        async with BrowserPool(PARAMS) as pool:
            program.chmod(0o644)
            async with pool.session() as session:  # the browser runs on, so nothing has failed yet
                await session.start(task(pages.add("/a", "works")))
            async with pool.session() as session:
                with pytest.raises(SandboxError, match=r"cannot be run: it is not executable; correct or unset"):
                    await session.start(task("http://127.0.0.1:1/"))
            with pytest.raises(ChromiumNotFoundError, match="cannot be run: it is not executable"):
                async with pool.session():
                    pass

    asyncio.run(scenario())
