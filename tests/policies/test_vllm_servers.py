"""vLLM servers that die, refuse or never start. `make test-vllm` runs these."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from itertools import groupby

import psutil
import pytest

from components.agent import EpisodeSettings, Request
from components.agent.rendering import Prompt, Text
from components.browser import BrowserPool
from components.journal import Journal
from components.policies.vllm import Fleet, ServerError, VLLMPolicy
from components.policies.vllm.fleet import MAX_UNANSWERED
from components.records import Trajectory
from components.rollout import collect, episode_specs
from components.worlds.miniwob.site import MiniWoBSite
from tests.policies.vllm_servers import BASE, GREEDY, HOT, alive, ask, embedded, fleet_of, gone, recipe, requests
from tests.training.rl_child import TASKS
from tests.vlm import TASK, observation, renderer

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]


def test_a_request_that_the_server_refuses_is_an_error_that_says_why(served, encoder):
    fleet, run = served
    long = Prompt((Text("never ending " * 3000),))
    with pytest.raises(ServerError, match=r"refused .* maximum context length"):
        run(ask(VLLMPolicy(fleet, "v", encoder), [Request(long, (), GREEDY, 4, 0)]))


@pytest.mark.parametrize("victim", ["server", "engine"])
def test_a_killed_server_is_restarted_and_no_request_is_lost(served, vlm, encoder, victim):
    check_that_nothing_is_lost(served, vlm, encoder, victim, psutil.Process.kill)


@pytest.mark.parametrize("victim", ["server", "engine"])
def test_a_hanging_server_is_restarted_and_no_request_is_lost(served, vlm, encoder, monkeypatch, victim):
    impatient(monkeypatch)
    check_that_nothing_is_lost(served, vlm, encoder, victim, psutil.Process.suspend)


def check_that_nothing_is_lost(served, vlm, encoder, victim: str, strike: Callable[[psutil.Process], None]) -> None:
    """Strike a server, or its engine, in the middle of 24 requests: another takes its place, and all are answered."""
    fleet, run = served
    asked = requests(encoder, GREEDY, 24)

    async def main():
        answers = asyncio.gather(*(VLLMPolicy(fleet, "v", encoder).complete(request) for request in asked))
        await asyncio.sleep(0.3)
        (pid,) = fleet.pids
        server = psutil.Process(pid)
        for process in [server] if victim == "server" else server.children(recursive=True):
            strike(process)
        return await answers, pid

    answers, pid = run(main())
    assert fleet.pids != [pid]
    assert gone(pid, within_s=10)
    assert [one.token_ids for one in answers] == [one.token_ids for one in embedded(vlm, asked)]


def test_weights_reach_a_server_whose_engine_has_just_died(served, vlm, encoder):
    """The server itself still lives. It ends, and the one that is started in its place has the weights."""
    fleet, run = served
    asked = requests(encoder, GREEDY, 4)

    async def main():
        (pid,) = fleet.pids
        for process in psutil.Process(pid).children(recursive=True):
            process.kill()
        await fleet.load(BASE)
        return await ask(VLLMPolicy(fleet, "v", encoder), asked), pid

    answers, pid = run(main())
    assert fleet.pids != [pid]
    assert [one.token_ids for one in answers] == [one.token_ids for one in embedded(vlm, asked)]


def test_a_server_that_is_busy_or_takes_weights_is_left_alone(served, encoder, monkeypatch):
    """Busy, it answers, perhaps late; while it takes weights it does not, here for as long as a hanging one would be
    given."""
    impatient(monkeypatch, patience_s=3.0)
    fleet, run = served
    ask_health, heard = fleet._is_healthy, []

    async def is_healthy(server):
        heard.append(await ask_health(server))
        return heard[-1]

    monkeypatch.setattr(fleet, "_is_healthy", is_healthy)

    async def main():
        before = fleet.pids
        await ask(VLLMPolicy(fleet, "v", encoder), requests(encoder, HOT, 4))  # the first steps take longest
        await asyncio.sleep(5)  # the watch has its new patience
        heard.clear()
        await ask(VLLMPolicy(fleet, "v", encoder), requests(encoder, HOT, 64))
        while_busy = list(heard)
        engine = psutil.Process(before[0]).children(recursive=True)
        for process in engine:
            process.suspend()
        loading = asyncio.create_task(fleet.load(BASE))
        await asyncio.sleep(13)
        unanswered = heard.count(False)
        for process in engine:
            process.resume()
        await loading
        return before, while_busy, unanswered

    before, while_busy, unanswered = run(main())
    assert sum(while_busy) > len(while_busy) / 2
    silences = [len([*answers]) for has_answered, answers in groupby(while_busy) if not has_answered]
    assert max(silences, default=0) < MAX_UNANSWERED
    assert unanswered >= MAX_UNANSWERED
    assert fleet.pids == before


def impatient(monkeypatch, patience_s: float = 2.0) -> None:
    """Ask for health all the time, and believe soon that a server hangs."""
    monkeypatch.setattr("components.policies.vllm.fleet.HEALTH_INTERVAL_S", 0.2)
    monkeypatch.setattr("components.policies.vllm.fleet.HEALTH_TIMEOUT_S", patience_s)


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


def test_a_server_that_starts_slower_than_an_answer_loses_no_episode(served, encoder, tmp_path, monkeypatch):
    fleet, run = served
    params = recipe()
    limits = params.agent.model_copy(update={"inference_timeout_s": 25.0, "task_timeout_s": 100.0})
    settings, start = EpisodeSettings(renderer(), limits, HOT, 2, 40), fleet._start

    async def start_later(server):
        await asyncio.sleep(30)
        await start(server)

    monkeypatch.setattr(fleet, "_start", start_later)

    async def main():
        policy = VLLMPolicy(fleet, "v", encoder)
        with Journal(tmp_path / "episodes.jsonl", Trajectory) as journal:
            async with BrowserPool(params.browser, site=MiniWoBSite(), text="elements") as pool:
                rolling = asyncio.create_task(
                    collect(episode_specs(TASKS, 4, "v", 0), pool, lambda spec, session: policy, settings, journal)
                )
                while not journal.path.exists() or not journal.path.stat().st_size:
                    await asyncio.sleep(0.05)
                os.kill(fleet.pids[0], signal.SIGKILL)
                return await rolling

    trajectories = run(main())
    assert len({one.trajectory_id for one in trajectories}) == len(TASKS) * 4
    assert all(one.termination.is_agents_doing for one in trajectories)


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


def test_attempts_at_a_task_share_the_prefix_cache(served, encoder, monkeypatch):
    """A server keeps blocks of 128 tokens; the pages that two attempts see are not the same."""
    fleet, run = served
    task = TASK.model_copy(update={"intent": " ".join(f"Step {number}: click." for number in range(60))})
    prompts = [renderer().prompt(task, [], observation(seed)) for seed in range(2)]
    first, second = (encoder.encode(prompt).ids for prompt in prompts)
    shared = next((index for index, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))
    generate, cached = fleet.generate, []

    async def recorded(*question):
        answer = await generate(*question)
        cached.append(answer["cached_tokens"])
        return answer

    monkeypatch.setattr(fleet, "generate", recorded)
    for prompt in prompts:
        run(ask(VLLMPolicy(fleet, "v", encoder), [Request(prompt, (), HOT, 8, 0)]))
    assert cached[0] == 0
    assert 128 <= cached[1] <= shared


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
