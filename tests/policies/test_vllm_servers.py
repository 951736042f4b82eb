"""A vLLM server that dies, hangs, refuses or is slow. `make test-vllm` runs these."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from itertools import groupby

import psutil
import pytest

from components.agent import EpisodeSettings, Request
from components.agent.rendering import Prompt, Text
from components.browser import BrowserPool
from components.journal import Journal
from components.policies.vllm import ServerError, VLLMPolicy
from components.policies.vllm.fleet import MAX_UNANSWERED
from components.records import Trajectory
from components.rollout import collect, episode_specs
from components.worlds.miniwob.site import MiniWoBSite
from tests.policies.vllm_servers import BASE, GREEDY, HOT, ask, embedded, gone, recipe, requests
from tests.training.rl_child import TASKS
from tests.vlm import TASK, observation, renderer

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]


def test_a_request_that_the_server_refuses_is_an_error_that_says_why(served, encoder):
    fleet, run = served
    long = Prompt((Text("never ending " * 3000),))
    with pytest.raises(ServerError, match=r"refused .* maximum context length"):
        run(ask(VLLMPolicy(fleet, "v", encoder), [Request(long, (), GREEDY, 4, 0)]))


@pytest.mark.parametrize("victim", ["server", pytest.param("engine", marks=pytest.mark.exhaustive)])
def test_a_killed_server_is_restarted_and_no_request_is_lost(served, vlm, encoder, victim):
    check_that_nothing_is_lost(served, vlm, encoder, victim, psutil.Process.kill)


@pytest.mark.parametrize("victim", ["server", pytest.param("engine", marks=pytest.mark.exhaustive)])
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


@pytest.mark.exhaustive
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
