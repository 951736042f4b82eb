"""What the environment breaks is tried again: at once if a browser died, by the next run if an episode was ended."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from components.agent import Completion, EpisodeSettings, EpisodeSpec, Policy, Prompt, Renderer, Request
from components.browser import BrowserPool, ChromiumNotFoundError, Environment, find_chromium
from components.journal import Journal
from components.params import SamplingParams, load
from components.policies.scripted import scripted_policy
from components.records import Termination, Trajectory
from components.rollout import collect, episode_specs
from components.worlds import Worlds
from components.worlds.miniwob import MiniWoB
from components.worlds.miniwob.site import MiniWoBSite
from tests.browser.test_pool import browsers, main_process
from tests.rollout.collect_child import TASKS

MINIWOB = Worlds([MiniWoB(MiniWoB.Params())])

EPISODES = episode_specs(TASKS[:6], 2, "scripted", run_seed=1)


def roll(journal: Path, policy_for) -> list[Trajectory]:
    params = load("recipes/smoke.yaml")
    browser = params.browser.model_copy(update={"concurrency": 3})
    settings = EpisodeSettings(
        Renderer(params.agent, params.observation), params.agent, SamplingParams(), max_steps=4, max_response_tokens=64
    )

    async def main() -> list[Trajectory]:
        with Journal(journal, Trajectory) as opened:
            async with BrowserPool(browser, site=MiniWoBSite(), text="elements") as pool:
                return list(await collect(EPISODES, pool, policy_for, settings, opened))

    return asyncio.run(main())


@pytest.mark.slow
def test_episodes_whose_browser_was_killed_are_run_again(tmp_path):
    begun: list[str] = []

    def policy_for(spec: EpisodeSpec, session: Environment) -> Policy:
        begun.append(spec.trajectory_id)
        if len(begun) == 5:
            os.kill(main_process(browsers(os.getpid())), signal.SIGKILL)
        return scripted_policy(MINIWOB, noise=0.0)(spec, session)

    trajectories = roll(tmp_path / "journal.jsonl", policy_for)
    assert [(t.termination, t.site_reward) for t in trajectories] == [(Termination.DONE, 1.0)] * len(EPISODES)
    assert len(begun) > len(EPISODES), "the kill hit nothing"
    for one in trajectories:
        assert set(one.diagnostics["start"]) == {"navigate", "look", "screenshot"}
        assert all(set(turn.timings) == {"policy", "act", "look", "screenshot"} for turn in one.turns)
        assert sum(sum(turn.timings.values()) for turn in one.turns) < one.diagnostics["wall_s"]


@pytest.mark.slow
def test_the_next_run_retries_only_episodes_that_the_environment_ended(tmp_path):
    first = roll(
        tmp_path / "journal.jsonl",
        scripted_policy(MINIWOB, noise=0.0),
    )
    broken = {
        first[1].trajectory_id: Termination.ENV_ERROR,
        first[4].trajectory_id: Termination.SANDBOX_ERROR,
        first[7].trajectory_id: Termination.INFERENCE_TIMEOUT,
    }
    with Journal(tmp_path / "outage.jsonl", Trajectory) as journal:
        for one in first:
            ended = broken.get(one.trajectory_id, one.termination)
            journal.append(one.model_copy(update={"termination": ended}))
    begun: set[str] = set()

    def policy_for(spec: EpisodeSpec, session: Environment) -> Policy:
        begun.add(spec.trajectory_id)
        return scripted_policy(MINIWOB, noise=0.0)(spec, session)

    again = roll(tmp_path / "outage.jsonl", policy_for)
    assert begun == set(broken)
    assert [t.termination for t in again] == [Termination.DONE] * len(EPISODES)


class Failing:
    """A policy with an error that concerns all requests."""

    version = "failing"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def prompt_tokens(self, prompt: Prompt) -> int:
        return 0

    async def complete(self, request: Request) -> Completion:
        raise self.error


@pytest.mark.parametrize("chain", ["__cause__", "__context__"])
def test_the_error_that_ends_a_run_keeps_its_cause(tmp_path, chain):
    error, cause = RuntimeError("the policy failed"), OSError("the socket was reset")
    setattr(error, chain, cause)
    with pytest.raises(RuntimeError, match="the policy failed") as raised:
        roll(tmp_path / "journal.jsonl", lambda spec, session: Failing(error))
    assert getattr(raised.value, chain) is cause


def test_a_browser_whose_program_is_removed_ends_the_run_with_the_fix(tmp_path, monkeypatch):
    program = tmp_path / "chromium"
    program.write_text(f'#!/bin/sh\nexec {find_chromium()} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("WAYMARK_CHROMIUM", str(program))
    begun: list[str] = []

    def policy_for(spec: EpisodeSpec, session: Environment) -> Policy:
        begun.append(spec.trajectory_id)
        if len(begun) == 5:
            program.unlink()
            os.kill(main_process(browsers(os.getpid())), signal.SIGKILL)
        return scripted_policy(MINIWOB, noise=0.0)(spec, session)

    with pytest.raises(ChromiumNotFoundError, match=r"correct (it|or unset WAYMARK_CHROMIUM)"):
        roll(tmp_path / "journal.jsonl", policy_for)
    assert len(begun) < len(EPISODES)
