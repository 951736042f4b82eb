"""The world city with two server processes: results are those of one, and the death of one spares the other."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from components.agent import EpisodeSettings, Renderer
from components.browser import open_browsers
from components.journal import Journal
from components.params import BrowserParams, SamplingParams, deciding, load
from components.policies.scripted import scripted_policy
from components.records import Task, Trajectory
from components.rollout import collect, episode_specs
from components.worlds import Worlds
from components.worlds.city import City
from components.worlds.city.instances import instances
from components.worlds.city.params import CityParams
from components.worlds.city.server_process import CityServer
from components.worlds.city.tasks.registry import templates
from tests.samples import recipe
from tests.worlds.city.reaching import answer_to_page, hits_by_page

BROWSER = BrowserParams(concurrency=2, start_timeout_s=60, step_timeout_s=60, settle_ms=20_000)
PARAMS = load("recipes/city-demo.yaml")
SETTINGS = EpisodeSettings(Renderer(PARAMS.agent, PARAMS.observation), PARAMS.agent, SamplingParams(), 12, 400)
BASKET, TICKET = "city/shop_add_to_basket/1", "city/desk_hold_ticket/1"


class Watched:
    """A scripted teacher; `watch` is called before each of its turns."""

    version = "scripted"

    def __init__(self, teacher, watch) -> None:
        self._teacher, self._watch = teacher, watch
        self.prompt_tokens = teacher.prompt_tokens

    async def complete(self, request):
        await self._watch()
        return await self._teacher.complete(request)


@dataclass
class Run:
    """Two episodes at once on two processes, one of which is killed when both run; then the same two on the other."""

    divided: list[Trajectory] = field(default_factory=list)
    alone: list[Trajectory] = field(default_factory=list)
    servers: dict[str, list[CityServer]] = field(default_factory=dict)
    """By task, on two processes: the server of each try."""
    killed: CityServer | None = None
    generations: Counter[int] = field(default_factory=Counter)
    """Number of servers by how often they were started again."""
    elsewhere: dict[str, object] = field(default_factory=dict)
    """What answers outside of the episode's own process."""


async def play_and_kill(folder: Path) -> Run:
    world, run = City(CityParams(processes=2)), Run()
    teacher_for = scripted_policy(Worlds([world]))
    both_run, keys = asyncio.Barrier(2), {}

    def policy_for(spec, session):
        return Watched(teacher_for(spec, session), lambda: watch(spec.task.task_id, session))

    async def watch(task_id, session):
        episode = session.site_episode
        if episode.key in keys.values():
            return
        run.servers.setdefault(task_id, []).append(episode.server)
        is_repeated, keys[task_id] = task_id in keys, episode.key
        if not is_repeated:
            await both_run.wait()
            if task_id == BASKET:
                await look_elsewhere(session, episode.server, run.servers[TICKET][0])
                run.killed = episode.server
                os.kill(episode.server.pid, signal.SIGKILL)

    async def look_elsewhere(session, own, other):
        run.elsewhere["hits"] = await hits_by_page(session.page)
        run.elsewhere["page"] = await answer_to_page(session.page, f"http://127.0.0.1:{other.port}/")
        headers = {"Host": "desk.test", "Cookie": f"city={keys[TICKET]}"}
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            for name, server in (("its own", other), ("another", own)):
                answer = await client.get(f"http://127.0.0.1:{server.port}/media/none.png", headers=headers)
                run.elsewhere[name] = answer.status_code

    async def rolled_out(pools, policy_for, name):
        with Journal(folder / name, Trajectory) as journal:
            return list(await collect(specs, pools, policy_for, SETTINGS, journal))

    async with open_browsers(BROWSER, world.sites(), "elements") as pools:
        kinds = [templates()[name] for name in ("shop_add_to_basket", "desk_hold_ticket")]
        rows = [instances(world.site().server, kind, 1, 1)[0].row("train") for kind in kinds]
        specs = episode_specs([Task.model_validate(row) for row in rows], 1, "scripted", 0)
        run.divided = await rolled_out(pools, policy_for, "divided.jsonl")
        run.generations.update(site.server.generation for site in world.sites())
        survivor = next(site for site in world.sites() if site.server is not run.killed)
        async with open_browsers(BROWSER, [survivor], "elements") as pool:
            run.alone = await rolled_out(pool, teacher_for, "alone.jsonl")
    return run


@pytest.fixture(scope="module")
def run(image, tmp_path_factory) -> Run:
    return asyncio.run(play_and_kill(tmp_path_factory.mktemp("processes")))


def test_a_killed_process_loses_its_own_episodes_only(run):
    assert [trajectory.site_reward for trajectory in run.divided] == [1, 1]
    assert run.servers[BASKET] == [run.killed, run.killed], "the episode is repeated on the process that came instead"
    assert len(run.servers[TICKET]) == 1, "the other episode goes on"
    assert run.generations == {0: 1, 1: 1}


def test_an_episode_reaches_no_process_but_its_own(run):
    assert run.elsewhere["hits"] == 0, "a page reaches another port of the machine"
    assert run.elsewhere["page"].startswith("the egress guard refused it"), run.elsewhere["page"]
    assert run.elsewhere["its own"] == 404, "the key opens the copy, which has no such picture"
    assert run.elsewhere["another"] == 403, "the key opens nothing in another process"


def test_two_processes_give_the_results_of_one(run):
    divided, alone = [
        [
            (trajectory.state_check, turn.observation.url, turn.observation.text, turn.response, turn.feedback)
            for trajectory in trajectories
            for turn in trajectory.turns
        ]
        for trajectories in (run.divided, run.alone)
    ]
    assert len(alone) > 2
    assert divided == alone


def test_the_number_of_processes_decides_no_result_and_has_a_limit():
    assert deciding(CityParams(processes=2)) == deciding(CityParams())
    assert City(CityParams(processes=2)).problems(recipe(browser__concurrency=2)) == []
    assert City(CityParams(processes=3)).problems(recipe(browser__concurrency=2)) == [
        "processes = 3 is more than browser.concurrency = 2: lower it"
    ]
