"""The distilled judge on servers: the questions of the judge in the process, refused where they are too long."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from components.agent import Completion, Prompt, Request
from components.cli.main import main
from components.judge.distilled import DistilledJudge, render
from components.judge.served import ServedJudge, judge_settings, longest_question, open_distilled
from components.params import RecipeError, VLLMParams
from components.plan import PlanOptions, plan
from components.plan.placement import devices_of
from components.records import Outcome
from tests.samples import a_task, a_trajectory, recipe
from tests.vlm import random_vlm

PARAMS = recipe(agent__prompt="compact", judge__distill__max_response_tokens=6)
SERVERS = {"servers": 2, "first_gpu": 5}
"""With openwebrl-4b, whose policy has the GPUs 4 to 6."""


class Says:
    """A policy that always gives one response."""

    version = "judge@1"

    def __init__(self, text: str, tokens: int = 10) -> None:
        self.text, self.tokens = text, tokens
        self.requests: list[Request] = []

    def prompt_tokens(self, prompt: Prompt) -> int:
        return self.tokens

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        return Completion([1, 2, 3], [0.0] * 3, self.text, "stop")


def test_each_trajectory_is_asked_about_as_in_the_process():
    policy, trajectories = Says("It was done.\nVerdict: SUCCESS"), [a_trajectory(a_task(seed)) for seed in range(3)]
    verdicts = asyncio.run(ServedJudge(policy, PARAMS)(trajectories))
    assert [verdict.trajectory_id for verdict in verdicts] == [t.trajectory_id for t in trajectories]
    assert {verdict.outcome for verdict in verdicts} == {Outcome.SUCCESS}
    assert {(verdict.judge, verdict.judge_version, verdict.tokens) for verdict in verdicts} == {
        ("distilled", "judge@1", 13)
    }
    assert [request.prompt for request in policy.requests] == [render(t, PARAMS) for t in trajectories]
    assert {(request.sampling.temperature, request.max_tokens) for request in policy.requests} == {(0.0, 6)}


def test_a_question_that_servers_cannot_take_has_no_verdict():
    most = longest_question(PARAMS) - 6
    for tokens, outcome in ((most, Outcome.SUCCESS), (most + 1, Outcome.UNPARSED)):
        policy = Says("Verdict: SUCCESS", tokens)
        (verdict,) = asyncio.run(ServedJudge(policy, PARAMS)([a_trajectory(a_task(0))]))
        assert verdict.outcome is outcome
        assert len(policy.requests) == (outcome is Outcome.SUCCESS)
    assert "raise agent.max_context_tokens" in verdict.rationale


def test_without_servers_the_judge_answers_in_the_process(tmp_path: Path):
    vlm = random_vlm()
    vlm.save(tmp_path / "judge")
    trajectories = [a_trajectory(a_task(seed)) for seed in range(2)]

    async def judged() -> list[str]:
        async with open_distilled(tmp_path / "judge", "v", PARAMS, tmp_path) as judge:
            return [verdict.rationale for verdict in await judge(trajectories)]

    assert asyncio.run(judged()) == [v.rationale for v in DistilledJudge(vlm, "v", PARAMS).judge(trajectories)]


def test_servers_take_the_longest_question_and_its_screenshots():
    settings = judge_settings(PARAMS, VLLMParams())
    assert settings.max_tokens == PARAMS.agent.max_context_tokens + 6
    assert settings.max_images == PARAMS.judge.distill.screenshots
    assert settings.model.lora is None


def test_a_judge_on_the_gpus_of_others_is_refused():
    with pytest.raises(RecipeError, match=r"share the GPUs \[5, 6\].*first_gpu to 7"):
        plan(Path("openwebrl-4b"), PlanOptions({"judge.distill.vllm": SERVERS}))


def test_the_plan_has_the_judges_servers_on_devices_of_their_own():
    own = SERVERS | {"first_gpu": 7}
    served = plan(Path("openwebrl-4b"), PlanOptions({"judge.distill.vllm": own}, "H100"))
    assert devices_of(served.recipe) == 9
    assert served.fits
    roles = {row.role: row.devices for row in served.memory}
    assert roles["judge's server"] == 2
    parts = {part.name for row in served.memory if row.role == "trainer" for part in row.parts}
    assert "distilled judge" not in parts
    by_url = plan(Path("openwebrl-4b"), PlanOptions({"judge.distill.vllm": {"urls": ["http://a:1"]}}, "H100"))
    assert devices_of(by_url.recipe) == 7


def test_a_recipe_without_servers_of_the_judge_serves_none(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setenv("WAYMARK_VLLM_KEY", "0123456789abcdef")
    assert main(["serve", "smoke", "--judge"]) == 1
    assert "judge.distill.vllm names no servers" in capsys.readouterr().err
