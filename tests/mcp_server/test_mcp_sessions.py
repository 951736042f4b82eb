"""`waymark mcp` as an agent starts it: a process of its own, a real browser, the client of the package `mcp`."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, ImageContent, TextContent
from PIL import Image

from components.browser.tools import TOOLS
from components.cli.main import main
from components.params import load
from components.pipeline.demonstrations import read_demonstrations
from components.records import Termination, Trajectory
from components.store import read_table
from tests.loopback import Handler, Loopback

ROOT = Path(__file__).parents[2]
LIMIT_S = 120
TASK = "miniwob/click-button/1"


def command(*options: str, recipe: str = "demo") -> StdioServerParameters:
    arguments = ["-m", "components.cli.main", "mcp", str(ROOT / f"recipes/{recipe}.yaml"), *options]
    return StdioServerParameters(command=sys.executable, args=arguments, cwd=ROOT)


@asynccontextmanager
async def connected(*options: str, recipe: str = "demo") -> AsyncIterator[Client]:
    async with Client(command(*options, recipe=recipe), read_timeout_seconds=LIMIT_S) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    part = result.content[0]
    assert isinstance(part, TextContent)
    return part.text


def point_of(name: str, text: str) -> dict[str, int]:
    found = re.search(rf'"{re.escape(name)}"[^\n]*? (\d+) (\d+)$', text, re.M)
    assert found is not None, text
    return {"x": int(found[1]), "y": int(found[2])}


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def recorded(folder: Path) -> Trajectory:
    (trajectory,) = read_table(folder / "trajectories.parquet", Trajectory)
    return trajectory


def servers() -> list[psutil.Process]:
    return [
        process
        for process in psutil.Process().children(recursive=True)
        if "components.cli.main" in " ".join(process.cmdline())
    ]


def test_an_agent_does_a_task_and_the_rule_says_so(tmp_path: Path) -> None:
    async def play() -> None:
        async with connected("--task", TASK, "--out", str(tmp_path), "--policy", "tester") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["observe", *TOOLS]
            start = await client.call_tool("observe", {})
            task = re.search(r'Task: Click on the "(.*)" button', text_of(start))
            assert task is not None
            image = start.content[1]
            assert isinstance(image, ImageContent)
            assert image.mime_type == "image/png"
            assert Image.open(io.BytesIO(base64.b64decode(image.data))).width > 100
            click = await client.call_tool("click", {**point_of(task[1], text_of(start)), "thought": "as asked"})
            assert text_of(click).startswith("Succeed: `click`")
            end = await client.call_tool("done", {"answer": ""})
            assert "The task has ended: done" in text_of(end)
            assert not end.is_error
            assert (await client.call_tool("click", {"x": 1, "y": 1})).is_error

    asyncio.run(play())
    (result,) = results(tmp_path)
    assert (result["task_id"], result["termination"], result["success"], result["reward"]) == (TASK, "done", True, 1)
    trajectory = recorded(tmp_path)
    assert trajectory.policy == "tester"
    assert trajectory.site_reward == 1
    assert [call.name for turn in trajectory.turns for call in turn.tool_calls] == ["click", "done"]
    assert "as asked" in trajectory.turns[0].response
    (demonstration,) = read_demonstrations([tmp_path / "demonstrations.parquet"], load(ROOT / "recipes/demo.yaml"))
    assert demonstration.trajectory_id == trajectory.trajectory_id


def test_wrong_calls_are_answered_and_cost_nothing(tmp_path: Path) -> None:
    async def play() -> None:
        async with connected("--task", TASK, "--out", str(tmp_path), "--no-screenshots") as client:
            for name, arguments, reason in (
                ("click", {"x": "left", "y": 1}, "x: "),
                ("click", {"x": 1}, "y is missing"),
                ("click", {"x": 1, "y": 1, "element": "3"}, "unknown argument element"),
                ("click_element", {"element": "3"}, "unknown tool"),
            ):
                refused = await client.call_tool(name, arguments)
                assert refused.is_error
                assert reason in text_of(refused)
            assert len((await client.call_tool("observe", {})).content) == 1
            await client.call_tool("done", {})

    asyncio.run(play())
    (result,) = results(tmp_path)
    assert (result["success"], result["calls"]) == (False, 1)
    assert not (tmp_path / "demonstrations.parquet").exists()


@pytest.mark.slow
def test_calls_that_arrive_together_run_one_by_one(tmp_path: Path) -> None:
    async def play() -> None:
        async with connected("--task", TASK, "--out", str(tmp_path), "--no-screenshots") as client:
            calls = [client.call_tool("scroll", {"direction": "down", "thought": str(number)}) for number in range(4)]
            answers = await asyncio.gather(*calls)
            assert not any(answer.is_error for answer in answers)
            await client.call_tool("done", {})

    asyncio.run(play())
    turns = recorded(tmp_path).turns
    assert [len(turn.tool_calls) for turn in turns] == [1] * 5
    assert sorted(re.sub(r"\D", "", turn.response.split("</think>")[0]) for turn in turns[:4]) == ["0", "1", "2", "3"]


def test_an_agent_that_leaves_is_recorded_as_aborted(tmp_path: Path) -> None:
    async def play() -> None:
        async with connected("--task", TASK, "--out", str(tmp_path)) as client:
            await client.call_tool("click", {"x": 990, "y": 990})

    asyncio.run(play())
    (result,) = results(tmp_path)
    assert (result["termination"], result["success"], result["calls"]) == (Termination.ABORTED, None, 1)
    trajectory = recorded(tmp_path)
    assert result["trajectory_id"] == trajectory.trajectory_id
    assert trajectory.termination is Termination.ABORTED
    assert len(trajectory.turns) == 1
    assert servers() == []


def test_an_agent_that_makes_no_call_has_a_result(tmp_path: Path) -> None:
    async def play() -> None:
        async with connected("--task", TASK, "--out", str(tmp_path)) as client:
            await client.list_tools()

    asyncio.run(play())
    (result,) = results(tmp_path)
    assert (result["termination"], result["calls"], result["trajectory_id"]) == (Termination.ABORTED, 0, None)


def test_an_action_after_the_pages_own_ending_is_the_reason(tmp_path: Path) -> None:
    async def play() -> None:
        async with connected("--task", TASK, "--out", str(tmp_path), "--no-screenshots") as client:
            start = text_of(await client.call_tool("observe", {}))
            task = re.search(r'Task: Click on the "(.*)" button', start)
            assert task is not None
            for _ in range(2):
                await client.call_tool("click", point_of(task[1], start))
            await client.call_tool("done", {"answer": "said </think><tool_call> in words"})

    asyncio.run(play())
    (result,) = results(tmp_path)
    assert (result["termination"], result["success"]) == ("done", False)
    assert result["answer"] == "said </think><tool_call> in words"
    assert result["rationale"] == "1 actions after the page had ended its task"


@pytest.mark.slow
def test_a_second_attempt_is_recorded_beside_the_first(tmp_path: Path) -> None:
    async def play() -> None:
        async with connected("--split", "train", "--index", "1", "--out", str(tmp_path), "--no-screenshots") as client:
            await client.call_tool("done", {})

    for _ in range(2):
        asyncio.run(play())
    first, second = read_table(tmp_path / "trajectories.parquet", Trajectory)
    assert first.task.task_id == second.task.task_id == TASK
    assert first.trajectory_id != second.trajectory_id
    assert len(results(tmp_path)) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_ends_the_server_and_its_browser(tmp_path: Path, number: signal.Signals) -> None:
    async def play() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command("--task", TASK, "--out", str(tmp_path)).args,
            cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        assert TASK in (await process.stderr.readline()).decode()
        await ask(
            process,
            1,
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "t", "version": "1"},
        )
        shown = await ask(process, 2, "tools/call", name="observe", arguments={})
        assert shown["content"][0]["text"].startswith("Task: ")
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
        process.send_signal(number)
        assert await asyncio.wait_for(process.wait(), LIMIT_S) == 130
        _, alive = psutil.wait_procs(children, timeout=30)
        assert alive == []

    asyncio.run(play())
    assert recorded(tmp_path).termination is Termination.ABORTED


async def ask(process: asyncio.subprocess.Process, number: int, method: str, **params: Any) -> dict[str, Any]:
    """The result of a request, with nothing but the protocol on standard output."""
    assert process.stdin is not None
    assert process.stdout is not None
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    process.stdin.write(f"{json.dumps(request)}\n".encode())
    await process.stdin.drain()
    answer = json.loads(await asyncio.wait_for(process.stdout.readline(), LIMIT_S))
    assert answer["id"] == number
    return answer["result"]


class Pages(Handler):
    """A page with a link to another server of this machine."""

    elsewhere = ""

    def do_GET(self) -> None:
        page = f"<title>Shop</title><button>Buy</button><a href='{self.elsewhere}'>Away</a>"
        self.send_body(page.encode(), "text/html")


@pytest.fixture
def shop() -> Iterator[str]:
    elsewhere, server = Loopback(Pages), Loopback(Pages)
    Pages.elsewhere = f"{elsewhere.origin}/"
    yield f"{server.origin}/"
    server.close()
    elsewhere.close()


def test_any_page_and_no_host_beside_it(tmp_path: Path, shop: str) -> None:
    async def play() -> None:
        options = ["--url", shop, "--intent", "look around", "--out", str(tmp_path), "--no-screenshots"]
        async with connected(*options) as client:
            start = text_of(await client.call_tool("observe", {}))
            assert "Task: look around" in start
            assert "Buy" in start
            away = text_of(await client.call_tool("click", point_of("Away", start)))
            assert f"{Pages.elsewhere} could not be opened: the egress guard refused it" in away
            again = text_of(await client.call_tool("goto_url", {"url": Pages.elsewhere}))
            assert "the egress guard refused it" in again
            await client.call_tool("done", {"answer": "a shop"})

    asyncio.run(play())
    (result,) = results(tmp_path)
    assert (result["termination"], result["answer"], result["success"]) == ("done", "a shop", None)


def test_tools_of_element_ids(tmp_path: Path) -> None:
    async def play() -> None:
        options = ["--split", "train", "--out", str(tmp_path), "--no-screenshots"]
        async with connected(*options, recipe="webagent-r1-demo") as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert "element" in tools["click"].input_schema["required"]
            shown = text_of(await client.call_tool("observe", {}))
            element = re.search(r'id="(\w+)"', shown)
            assert element is not None, shown
            click = await client.call_tool("click", {"element": element[1]})
            assert not click.is_error

    asyncio.run(play())
    (turn,) = recorded(tmp_path).turns
    assert turn.tool_calls[0].name == "click_element"
    assert turn.tool_calls[0].error is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            ["--task", "miniwob/click-button/77777"],
            "there are 720 in train, 216 in eval, 40 in heldout, such as",
        ),
        (["--task", TASK, "--index", "1"], "--index counts the tasks of a split"),
        (["--split", "tests"], "there is no split 'tests'"),
        (["--split", "train", "--index", "-1"], "has no task -1"),
        (["--url", "ftp://shop.test"], "no address of a web page"),
        (["--url", "http://shop.test", "--tasks", "tasks.csv"], "leave out --tasks"),
        (["--task", TASK, "--allow", "shop.test"], "--allow and --intent belong to --url"),
    ],
)
def test_wrong_arguments_name_the_fix(options: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", str(ROOT / "recipes/demo.yaml"), *options]) == 1
    assert reason in capsys.readouterr().err


def test_an_agent_that_would_see_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", str(ROOT / "recipes/demo-pixels.yaml"), "--split", "train", "--no-screenshots"]) == 1
    assert "observation.text: none" in capsys.readouterr().err
