"""Episodes of the city whose server processes are killed: the part `faults` of `python -m perf.city`."""

from __future__ import annotations

import itertools
import math
import os
import random
import signal
import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from components.agent import Completion, EpisodeSettings, EpisodeSpec, Policy, Prompt, Renderer, Request
from components.browser import Environment, Session, open_browsers
from components.journal import Journal
from components.params import BrowserParams, SamplingParams, load
from components.policies.scripted import ScriptedTeacher
from components.records import Task, Termination, Trajectory
from components.rollout import collect, episode_specs
from components.worlds.city import City
from components.worlds.city.instances import CopyData, Instance, instances
from components.worlds.city.params import CityParams
from components.worlds.city.server_process import CityServer
from components.worlds.city.site import CityEpisode
from components.worlds.city.tasks.registry import templates
from components.worlds.oracle import Oracle

RECIPE = "recipes/city-demo.yaml"
TEMPLATE = "shop_add_to_basket"
PROCESSES = 2
AT_ONCE = 8
MAX_STEPS = 12
EXPECTED = ((1.0, 1), (0.0, 0), (0.0, 1))
"""Reward and number of changed rows of each attempt at a task: an oracle that puts the article into the cart, an agent
that only says `done`, and the oracle of another task, which puts a wrong article into the cart."""


@dataclass
class Faults:
    """Kills servers at turns of the episodes, and counts the tries of each episode.

    Attributes:
        episodes: in all.
        planned: number of kills. They are spread evenly over the episodes' beginnings.
    """

    episodes: int
    planned: int
    kills: int = 0
    tries: Counter[str] = field(default_factory=Counter)

    def strike(self, server: CityServer) -> None:
        """Kill the server's process if a kill is due, and count it."""
        is_due = self.tries.total() * (self.planned + 1) >= (self.kills + 1) * self.episodes
        if self.kills < self.planned and is_due and server.is_running:
            os.kill(server.pid, signal.SIGKILL)
            self.kills += 1


class Struck:
    """A policy from whose second turn on the server of its episode may be killed, just before it answers."""

    def __init__(self, policy: Policy, session: Session, faults: Faults) -> None:
        self.version = policy.version
        self._policy, self._session, self._faults = policy, session, faults
        self._turns = 0

    def prompt_tokens(self, prompt: Prompt) -> int:
        """Those of the policy."""
        return self._policy.prompt_tokens(prompt)

    async def complete(self, request: Request) -> Completion:
        """The policy's answer."""
        self._turns += 1
        episode = self._session.site_episode
        if self._turns > 1 and isinstance(episode, CityEpisode):
            self._faults.strike(episode.server)
        return await self._policy.complete(request)


async def faults(episodes: int, kills: int) -> dict[str, object]:
    """Run episodes in Chromium as a pipeline's stage does, while processes of the city are killed.

    Returns:
        `interrupted`: episodes that ran more than once, because their process was killed. `lost`: those without a
        verdict in the end. `wrong`: those whose reward or number of changed rows is not what the agent has done.
        `left`: copies and snapshots that the servers still have.
    """
    params, world = load(RECIPE), City(CityParams(processes=PROCESSES))
    browser = BrowserParams(concurrency=AT_ONCE, start_timeout_s=120, step_timeout_s=120, settle_ms=20_000)
    settings = EpisodeSettings(
        Renderer(params.agent, params.observation), params.agent, SamplingParams(), MAX_STEPS, 64
    )
    struck = Faults(episodes, kills)
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.jsonl", Trajectory, False) as journal:
        async with open_browsers(browser, world.sites(), "elements") as pools:
            server = world.site().server
            made = instances(server, templates()[TEMPLATE], 1, math.ceil(episodes / len(EXPECTED)))
            tasks = [Task.model_validate(instance.row("train")) for instance in made]
            others = {task.task_id: another(server, instance) for task, instance in zip(tasks, made, strict=True)}

            def policy_for(spec: EpisodeSpec, session: Environment) -> Policy:
                assert isinstance(session, Session)
                struck.tries[spec.trajectory_id] += 1
                oracles = (world.teacher(spec.task), idle(), others[spec.task.task_id].oracle(random.Random(0)))
                teacher = ScriptedTeacher(session, lambda: oracles[spec.attempt], params.agent.protocol)
                return Struck(teacher, session, struck)

            specs = episode_specs(tasks, len(EXPECTED), "scripted", run_seed=1)[:episodes]
            collected = list(await collect(specs, pools, policy_for, settings, journal))
            left = [sum(site.server.count()) for site in world.sites() if site.server.is_running]
    finished = [trajectory for trajectory in collected if trajectory.termination is Termination.DONE]
    return {
        "kills": struck.kills,
        "episodes": len(specs),
        "interrupted": sum(number > 1 for number in struck.tries.values()),
        "lost": len(specs) - len(finished),
        "lost_as": dict(Counter(f"{lost.termination}" for lost in collected if lost not in finished)),
        "wrong": sum(verdict(trajectory) != EXPECTED[trajectory.attempt] for trajectory in finished),
        "left": sum(left),
    }


def verdict(trajectory: Trajectory) -> tuple[float | None, int]:
    """The reward of an episode, and how many rows it changed."""
    check = trajectory.state_check
    return trajectory.site_reward, len(check.changes) if check is not None else 0


def another(server: CityServer, instance: Instance) -> Instance:
    """An instance of the same template and data that asks for another article."""
    key = server.reset(instance.seed)["key"]
    try:
        drawn = (instance.template.facts(CopyData(server, key), random.Random(number)) for number in itertools.count())
        return replace(instance, facts=next(facts for facts in drawn if facts["product"] != instance.facts["product"]))
    finally:
        server.drop(key)


def idle() -> Oracle:
    """An agent that only says `done`."""
    return Oracle([], "done", random.Random(0))
