"""An endpoint that refuses a request ends that request's episode; one that cannot be used ends the run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.agent import EpisodeSettings, Renderer, format_call, format_response
from components.browser import BrowserPool
from components.evaluation import FailureKind, failure_kind
from components.journal import Journal
from components.judge import reward
from components.params import EndpointParams, SamplingParams, load
from components.policies import EndpointError, EndpointPolicy
from components.records import Termination, Trajectory
from components.rollout import AllEndedByEnvironment, collect, episode_specs, require_agents_endings
from components.worlds.miniwob.site import MiniWoBSite
from tests.endpoint_server import Server
from tests.rollout.collect_child import TASKS

REFUSED = TASKS[2].model_copy(update={"intent": "Say what no content filter lets pass."})
EPISODES = episode_specs([*TASKS[:2], REFUSED, TASKS[3]], 1, "m", run_seed=1)


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    running.message["content"] = format_response("I give up.", [format_call("done", answer="N/A")])
    yield running
    running.close()


def roll(server: Server, folder: Path) -> list[Trajectory]:
    params = load("recipes/smoke.yaml")
    browser = params.browser.model_copy(update={"concurrency": 2})
    settings = EpisodeSettings(
        Renderer(params.agent, params.observation), params.agent, SamplingParams(), max_steps=4, max_response_tokens=64
    )
    endpoint = EndpointParams(url=server.url, model="m", key_variable=None)

    async def main() -> list[Trajectory]:
        with Journal(folder / "journal.jsonl", Trajectory) as opened:
            pool = BrowserPool(browser, site=MiniWoBSite(), text="elements")
            async with EndpointPolicy(endpoint, folder / "spent.json") as policy, pool:
                return list(await collect(EPISODES, pool, lambda spec, session: policy, settings, opened))

    return asyncio.run(main())


def test_a_refused_request_ends_only_its_episode(server, tmp_path):
    server.refuses = lambda text: "content filter" in text
    trajectories = roll(server, tmp_path)
    assert [t.termination for t in trajectories] == [
        Termination.REQUEST_REFUSED if t.task_id == REFUSED.task_id else Termination.DONE for t in trajectories
    ]
    refused = trajectories[2]
    assert "status 400" in refused.diagnostics["error"]
    assert reward(refused, None).masked
    assert failure_kind(refused, None) is FailureKind.INFRASTRUCTURE
    server.refuses = lambda text: False
    assert [t.termination for t in roll(server, tmp_path)] == [Termination.DONE] * 4, "a rerun asks again"
    assert len(server.asked) == 5


def test_a_stage_whose_requests_are_all_refused_fails_with_the_reason(server, tmp_path):
    server.refuses = lambda text: True
    trajectories = roll(server, tmp_path)
    with pytest.raises(AllEndedByEnvironment, match=r"most often by request_refused in 4 of 4: .*BadRequestError"):
        require_agents_endings(trajectories)


def test_an_answer_that_the_content_filter_cut_is_no_failure_of_the_agent(server, tmp_path):
    server.finish = "content_filter"
    trajectories = roll(server, tmp_path)
    assert [t.termination for t in trajectories] == [Termination.REQUEST_REFUSED] * 4
    assert "content filter" in trajectories[0].diagnostics["error"]
    server.finish = "stop"
    assert [t.termination for t in roll(server, tmp_path)] == [Termination.DONE] * 4, "a rerun asks again"


@pytest.mark.slow
def test_a_wrong_key_ends_the_run(server, tmp_path):
    server.trouble = [401] * 8
    with pytest.raises(EndpointError, match="AuthenticationError"):
        roll(server, tmp_path)
