"""An endpoint's tokens and its price are in no turn; the episode keeps what they came to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from components.agent import Completion, EpisodeSettings, EpisodeSpec, Renderer, Request, format_call, format_response
from components.agent.loop import run_episode
from components.agent.policy import Work
from components.browser import StepResult
from components.records import Observation, Task, Termination, ToolCall, Trajectory
from tests.samples import a_task, a_turn, recipe


class Page:
    """An environment in which every call succeeds and nothing changes."""

    timings: dict[str, float] = {}  # noqa: RUF012
    health: dict[str, float] = {}  # noqa: RUF012
    requests = 0

    async def start(self, task: Task) -> Observation:
        return a_turn().observation

    async def step(self, calls: Sequence[ToolCall]) -> StepResult:
        return StepResult(["Succeed: done."] * len(calls), a_turn().observation, None, False)

    async def check_state(self) -> None:
        return None

    async def site_reward(self) -> float | None:
        return None

    async def oracle(self) -> str:
        return ""


class Answers:
    """Answers in turn, each with its bill and its work."""

    version = "endpoint"

    def __init__(self, *bills: tuple[int | None, float | None], work: Work | None = None) -> None:
        self._bills = iter(bills)
        self._work = work

    def prompt_tokens(self, prompt: object) -> int:
        return 10

    async def complete(self, request: Request) -> Completion:
        tokens, usd = next(self._bills)
        text = format_response("Go on.", [format_call("wait", seconds=0)])
        return Completion([], [], text, "stop", tokens=tokens, usd=usd, work=self._work)


def episode(*bills: tuple[int | None, float | None], work: Work | None = None) -> Trajectory:
    params = recipe()
    settings = EpisodeSettings(
        Renderer(params.agent, params.observation, params.model.think_prefix),
        params.agent,
        params.evaluation.sampling,
        len(bills),
        params.agent.max_response_tokens,
    )
    policy = Answers(*bills, work=work)
    return asyncio.run(run_episode(EpisodeSpec(a_task(), 0, "endpoint", 0), Page(), policy, settings))


def test_costs_add_up_over_the_turns():
    done = episode((30, 0.001), (50, 0.0025))
    assert done.termination is Termination.MAX_STEPS
    assert (done.diagnostics["response_tokens"], done.diagnostics["usd"]) == (80, 0.0035)
    assert done.diagnostics["bills"] == [{"tokens": 30, "usd": 0.001}, {"tokens": 50, "usd": 0.0025}]


def test_a_policy_without_costs_records_none_and_not_zero():
    assert {"response_tokens", "usd", "bills"} & episode((None, None)).diagnostics.keys() == set()


def test_the_work_of_the_policy_adds_up_over_the_turns():
    done = episode((None, None), (None, None), work=Work(0.25, 0.5, 1.0))
    assert done.diagnostics["work"] == {"vision_s": 0.5, "prefill_s": 1.0, "decode_s": 2.0}
    assert "work" not in episode((None, None)).diagnostics, "a policy that does not know its work records none"
