"""The child of `test_collect_resume` runs scripted episodes: `python -m tests.rollout.collect_child JOURNAL LOG`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from components.agent import EpisodeSettings, EpisodeSpec, Policy, Renderer
from components.browser import BrowserPool, Environment
from components.journal import Journal
from components.params import SamplingParams, load
from components.policies.scripted import scripted_policy
from components.records import Task, Trajectory
from components.rollout import collect, episode_specs
from components.worlds import Worlds
from components.worlds.miniwob import MiniWoB
from components.worlds.miniwob.site import MiniWoBSite

MINIWOB = Worlds([MiniWoB(MiniWoB.Params())])

TASKS = [
    Task(
        task_id=f"focus-text/{seed}",
        intent="Focus into the textbox.",
        start_url="http://miniwob/focus-text.html",
        website="miniwob/focus-text",
        source="miniwob",
        seed=seed,
    )
    for seed in range(16)
]


async def main(journal_path: Path, log_path: Path) -> None:
    params = load("recipes/smoke.yaml")
    browser = params.browser.model_copy(update={"concurrency": 3})
    with Journal(journal_path, Trajectory, in_memory=False) as journal, log_path.open("a", buffering=1) as log:

        def policy_for(spec: EpisodeSpec, session: Environment) -> Policy:
            log.write(f"start {spec.trajectory_id}\n")
            return scripted_policy(MINIWOB, noise=0.0)(spec, session)

        async with BrowserPool(browser, site=MiniWoBSite(), text="elements") as pool:
            trajectories = await collect(
                episode_specs(TASKS, 2, "scripted", run_seed=1),
                pool,
                policy_for,
                EpisodeSettings(Renderer(params.agent, params.observation), params.agent, SamplingParams(), 4, 64),
                journal,
            )
        for trajectory in trajectories:
            log.write(f"result {trajectory.trajectory_id} {trajectory.site_reward}\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
