"""Browsers on a Ray cluster: a machine that dies loses nothing, and no browser outlives it.

Two nodes on this machine, as `ray.cluster_utils` makes them: each has a raylet and worker processes of its own, and a
node is killed with SIGKILL.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter

import psutil
import pytest
import ray
from ray.cluster_utils import Cluster

from components.agent import EpisodeSettings, EpisodeSpec, Policy, Renderer
from components.browser import EnvInitError, Environment, SandboxError
from components.journal import Journal
from components.params import RolloutParams, SamplingParams, load
from components.policies.scripted import scripted_policy
from components.records import Probe, Termination, ToolCall, Trajectory
from components.rollout import CollectOptions, collect, episode_specs
from components.rollout.ray_pool import BrowserWorker, RayPool
from components.worlds import Worlds
from components.worlds.miniwob import MiniWoB
from components.worlds.miniwob.site import MiniWoBSite
from tests.rollout.collect_child import TASKS

MINIWOB = Worlds([MiniWoB(MiniWoB.Params())])

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
PARAMS = load("recipes/smoke.yaml")
SETTINGS = EpisodeSettings(Renderer(PARAMS.agent, PARAMS.observation), PARAMS.agent, SamplingParams(), 4, 64)


@pytest.fixture
def cluster(monkeypatch):
    """A head without cores, and two nodes with one each."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [made.add_node(num_cpus=1) for _ in range(2)]
    made.wait_for_nodes()
    yield made, nodes
    ray.shutdown()
    made.shutdown()


def pool(cluster: Cluster, concurrency: int = 2) -> RayPool:
    browser = PARAMS.browser.model_copy(update={"concurrency": concurrency})
    rollout = RolloutParams(executor="ray", ray_address=cluster.address)
    return RayPool(browser, rollout, [MiniWoBSite()], "elements")


def processes_of(node) -> list[psutil.Process]:
    """All below a node's raylet, browsers included."""
    raylet = next(info.process for infos in [node.all_processes["raylet"]] for info in infos)
    return psutil.Process(raylet.pid).children(recursive=True)


def test_episodes_of_a_machine_that_is_killed_run_again_on_another(cluster, tmp_path):
    made, (_, doomed) = cluster
    episodes = episode_specs(TASKS, 2, "scripted", run_seed=1)
    tries: Counter[str] = Counter()
    below: list[psutil.Process] = []
    names: list[str] = []

    def policy_for(spec: EpisodeSpec, session: Environment) -> Policy:
        tries[spec.trajectory_id] += 1
        return scripted_policy(MINIWOB, noise=0.0)(spec, session)

    def kill_after(done: int, total: int) -> None:
        if done == 20:
            below.extend(processes_of(doomed))
            names.extend(_name(one) for one in below)
            threading.Thread(target=made.remove_node, args=(doomed,), kwargs={"allow_graceful": False}).start()

    async def main() -> list[Trajectory]:
        with Journal(tmp_path / "journal.jsonl", Trajectory) as journal:
            async with pool(made) as browsers:
                trajectories = await collect(
                    episodes, browsers, policy_for, SETTINGS, journal, CollectOptions(kill_after)
                )
            assert Counter(one.trajectory_id for one in journal.records) == {one.trajectory_id: 1 for one in episodes}
        return trajectories

    trajectories = asyncio.run(main())
    assert [(t.termination, t.site_reward) for t in trajectories] == [(Termination.DONE, 1.0)] * len(episodes)
    assert len([number for number in tries.values() if number > 1]) >= 1, "the machine that died held no episode"
    assert any("chrom" in name for name in names), "the machine that died held no browser"
    deadline = time.monotonic() + 30
    while (left := [one for one in below if _name(one)]) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not left, "processes outlived their machine"


def _name(process: psutil.Process) -> str:
    try:
        return process.name() if process.status() != psutil.STATUS_ZOMBIE else ""
    except psutil.Error:
        return ""


def test_sessions_behave_as_on_this_machine(cluster):
    made, _ = cluster

    async def main() -> None:
        async with pool(made, concurrency=1) as browsers:
            async with browsers.session() as session:
                observation = await session.start(TASKS[0])
                assert "- field" in (observation.text or "")
                assert session.timings["navigate"] > 0
                assert await session.oracle() == observation.text
                assert await session.site_reward() == 0.0
                assert (await session.read(Probe(url="last", locator="", script="1 + 1"))).text == "2"
            async with browsers.session() as session:
                with pytest.raises(EnvInitError, match="no MiniWoB"):
                    await session.start(TASKS[0].model_copy(update={"start_url": "http://miniwob/no-such-page.html"}))
            # an episode that is given up in the middle of an operation leaves its slot to the next
            for _ in range(3):
                async with browsers.session() as session:
                    await session.start(TASKS[0])
                    with pytest.raises(TimeoutError):
                        await asyncio.wait_for(session.step([ToolCall(name="wait", arguments={"seconds": 20})]), 0.5)
            async with browsers.session() as first, browsers.session() as second:
                await asyncio.gather(first.start(TASKS[0]), second.start(TASKS[1]))

    asyncio.run(main())


def test_a_worker_that_dies_comes_back(cluster):
    made, _ = cluster

    async def main() -> None:
        async with pool(made, concurrency=1) as browsers:
            async with browsers.session() as first, browsers.session() as second:  # both machines
                for session in (first, second):
                    await session.start(TASKS[0])
                for node in made.list_all_nodes():
                    for process in processes_of(node):
                        if BrowserWorker.__name__ in " ".join(process.cmdline()):
                            process.kill()
                for session in (first, second):
                    with pytest.raises(SandboxError, match="machine"):
                        await session.site_reward()
            async with browsers.session() as first, browsers.session() as second:
                await asyncio.gather(first.start(TASKS[0]), second.start(TASKS[1]))

    asyncio.run(main())


def test_without_an_address_no_cluster_of_somebody_else_is_joined(cluster):
    made, _ = cluster

    async def main() -> None:
        async with RayPool(PARAMS.browser, RolloutParams(executor="ray"), [MiniWoBSite()], "elements"):
            assert ray.get_runtime_context().gcs_address != made.address

    asyncio.run(main())
