"""A bug of the harness ends its episode with its traceback; an error of the policy is raised unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from components.agent import EpisodeSettings, EpisodeSpec, Renderer, Request
from components.agent.loop import run_episode
from components.agent.protocols import protocol
from components.browser import EnvError, StepResult
from components.records import Observation, Probe, Reading, Task, Termination, ToolCall, Trajectory
from tests.agent.test_billing import Answers, Page
from tests.samples import a_task, a_turn, recipe


class _BuggyStep(Page):
    """Its second step reads a key that is missing."""

    steps = 0

    async def step(self, calls: Sequence[ToolCall]) -> StepResult:
        self.steps += 1
        return await super().step(calls) if self.steps == 1 else {}["frozen"]  # type: ignore[return-value]


class _BuggyStart(Page):
    """Its start page breaks the harness."""

    async def start(self, task: Task) -> Observation:
        raise RecursionError("too deep")


class _Finishing(Page):
    """Its first step ends the episode."""

    async def step(self, calls: Sequence[ToolCall]) -> StepResult:
        return StepResult(["Succeed: done."], a_turn().observation, "yes", True)

    async def read(self, probe: Probe) -> Reading:
        raise TypeError("no such reading")


class _FailingStep(Page):
    """Its step fails as a page does."""

    async def step(self, calls: Sequence[ToolCall]) -> StepResult:
        raise EnvError("the page did not answer")


class _BuggyRenderer(Renderer):
    """Cannot render a second turn."""

    def prompt(self, task, turns, current):  # type: ignore[no-untyped-def]
        return super().prompt(task, turns, current) if not turns else turns[7]


class _BuggyPolicy(Answers):
    """Fails to answer."""

    async def complete(self, request: Request):  # type: ignore[no-untyped-def]
        raise KeyError("the policy's own")


def episode(page: Page, policy: Answers | None = None, **changes: object) -> Trajectory:
    params = recipe()
    settings = EpisodeSettings(
        Renderer(params.agent, params.observation, params.model.think_prefix),
        params.agent,
        params.evaluation.sampling,
        4,
        params.agent.max_response_tokens,
    )
    spec = EpisodeSpec(a_task(), 0, "endpoint", 0)
    answers = policy or Answers(*[(1, 0.0)] * 4)
    return asyncio.run(run_episode(spec, page, answers, replace(settings, **changes)))  # type: ignore[arg-type]


def test_a_bug_in_a_step_ends_the_episode_with_its_traceback():
    trajectory = episode(_BuggyStep())
    assert trajectory.termination is Termination.HARNESS_ERROR
    assert not trajectory.termination.is_agents_doing
    assert len(trajectory.turns) == 1
    assert trajectory.diagnostics["error"] == "a step: KeyError('frozen')"
    assert 'File "' in trajectory.diagnostics["traceback"]
    assert "test_harness_errors.py" in trajectory.diagnostics["traceback"]


def test_a_bug_before_the_first_turn_is_contained():
    trajectory = episode(_BuggyStart())
    assert (trajectory.termination, trajectory.turns) == (Termination.HARNESS_ERROR, [])
    assert trajectory.diagnostics["error"] == "opening the start page: RecursionError('too deep')"


def test_a_bug_in_rendering_is_contained():
    params = recipe()
    trajectory = episode(Page(), renderer=_BuggyRenderer(params.agent, params.observation))
    assert trajectory.termination is Termination.HARNESS_ERROR
    assert trajectory.diagnostics["error"].startswith("rendering the prompt: IndexError")


def test_a_bug_in_reading_for_the_rule_leaves_no_ending():
    trajectory = episode(_Finishing(), probes=lambda task, url: [Probe(url=url, locator="")])
    assert (trajectory.termination, trajectory.ending) == (Termination.HARNESS_ERROR, None)
    assert trajectory.answer == "yes"


def test_a_bug_in_parsing_is_contained(monkeypatch):
    spoken = protocol(recipe().agent.protocol)
    monkeypatch.setattr("components.agent.loop.protocol", lambda _: replace(spoken, parse=lambda text: [][0]))
    trajectory = episode(Page())
    assert trajectory.diagnostics["error"].startswith("parsing the response: IndexError")


def test_the_errors_of_pages_keep_their_own_terminations():
    assert episode(_FailingStep()).termination is Termination.ENV_ERROR


def test_an_error_of_the_policy_is_raised_unchanged():
    with pytest.raises(KeyError, match="the policy's own"):
        episode(Page(), _BuggyPolicy())
