"""An unexpected exception ends one of several parallel episodes; above the recipe's limit it stops the run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Page

from components.agent import EpisodeSettings, Renderer
from components.browser import BrowserPool
from components.journal import Journal
from components.judge import reward
from components.params import SamplingParams, load
from components.policies.scripted import scripted_policy
from components.records import Task, Termination, Trajectory
from components.rollout import CollectOptions, TooManyHarnessErrors, collect, episode_specs
from components.worlds import Teacher, Worlds
from components.worlds.miniwob import MiniWoB
from components.worlds.miniwob.site import MiniWoBSite
from tests.rollout.collect_child import TASKS

MINIWOB = Worlds([MiniWoB(MiniWoB.Params())])
EPISODES = episode_specs(TASKS[:6], 1, "scripted", run_seed=1)
BROKEN = TASKS[2]


class _BrokenSite(MiniWoBSite):
    """Reads a key that the answer of one task's page lacks."""

    broken = True

    async def reward(self, page: Page) -> float | None:
        cookie = await page.evaluate("document.cookie")
        answer = {"reward": await super().reward(page)}
        return answer["frozen" if self.broken and f"waymark={BROKEN.seed}." in cookie else "reward"]


class _BrokenWorld(MiniWoB):
    """Its teacher cannot be made for one task and has no plan for another."""

    def teacher(self, task: Task, attempt: int = 0, seed: int = 0, noise: float = 0.0) -> Teacher:
        if task is TASKS[3]:
            raise ValueError("an unknown task")
        teacher = super().teacher(task, attempt, seed, noise)
        if task is BROKEN:
            teacher.next = lambda elements: {}["plan"]  # type: ignore[method-assign, assignment]
        return teacher


def roll(journal: Path, limit: float, site: MiniWoBSite | None = None, worlds: Worlds = MINIWOB) -> list[Trajectory]:
    params = load("recipes/smoke.yaml")
    browser = params.browser.model_copy(update={"concurrency": 3})
    renderer = Renderer(params.agent, params.observation)
    settings = EpisodeSettings(renderer, params.agent, SamplingParams(), max_steps=4, max_response_tokens=64)

    options = CollectOptions(max_harness_errors=limit)

    async def main() -> list[Trajectory]:
        with Journal(journal, Trajectory) as opened:
            async with BrowserPool(browser, site=site or _BrokenSite(), text="elements") as pool:
                policy = scripted_policy(worlds, noise=0.0)
                return list(await collect(EPISODES, pool, policy, settings, opened, options))

    return asyncio.run(main())


@pytest.mark.slow
def test_an_unexpected_exception_ends_one_of_several_parallel_episodes(tmp_path):
    trajectories = roll(tmp_path / "journal.jsonl", limit=0.2)
    assert {t.task_id: t.termination for t in trajectories} == {
        task.task_id: Termination.HARNESS_ERROR if task is BROKEN else Termination.DONE for task in TASKS[:6]
    }
    broken = trajectories[2]
    assert broken.diagnostics["error"] == "reading the reward: KeyError('frozen')"
    assert "test_collect_harness_errors.py" in broken.diagnostics["traceback"]
    assert reward(broken, None).masked
    assert [t.site_reward for t in trajectories if t is not broken] == [1.0] * 5


@pytest.mark.slow
def test_what_a_teacher_raises_ends_its_own_episode(tmp_path):
    worlds = Worlds([_BrokenWorld(MiniWoB.Params())])
    played = roll(tmp_path / "journal.jsonl", limit=0.5, site=MiniWoBSite(), worlds=worlds)
    errors = {t.task_id: t.diagnostics["error"] for t in played if t.termination is Termination.HARNESS_ERROR}
    assert errors == {
        BROKEN.task_id: "the scripted teacher: KeyError('plan')",
        TASKS[3].task_id: "the scripted teacher: ValueError('an unknown task')",
    }
    assert [t.site_reward for t in played if t.task_id not in errors] == [1.0] * 4


@pytest.mark.slow
def test_more_than_the_allowed_share_stops_the_run_and_names_the_key(tmp_path):
    path = tmp_path / "journal.jsonl"
    with pytest.raises(TooManyHarnessErrors) as raised:
        roll(path, limit=0.1)
    message = str(raised.value)
    assert "ended 1 of 6 episodes, above rollout.max_harness_errors = 0.1" in message
    assert "most often harness_error in 1 of 1: \"reading the reward: KeyError('frozen')\"" in message
    site = _BrokenSite()
    site.broken = False
    again = roll(path, limit=0.0, site=site)
    assert [t.termination for t in again] == [Termination.DONE] * 6
