"""Iterations that find nothing to learn from: some are borne, some end the run with the reason."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

import pytest
import torch

from components.agent import Completion, Policy, Prompt, Request, format_call, format_response
from components.browser import BrowserPool
from components.params import RLPhase, parse
from components.records import Outcome, Reward, Termination, Trajectory, Verdict
from components.rollout import Group, NothingLearnable, Sampled, SamplerState
from components.sites import MiniWoB
from components.training.health import health_line, masked_shares
from components.training.learner import Learner
from components.training.rl import CHECKPOINT, IDLE_ITERATIONS, Trained, _bear_with, train_rl
from components.training.team import Team
from tests.samples import a_task, a_trajectory, a_verdict, raw_recipe
from tests.training.rl_child import TASKS
from tests.vlm import random_vlm


def sampled(*values: float, masked: bool = False) -> Sampled:
    trajectories = [a_trajectory(attempt=attempt) for attempt in range(len(values))]
    rewards = [
        Reward(trajectory_id=t.trajectory_id, value=value, masked=masked, format_ok=True)
        for t, value in zip(trajectories, values, strict=True)
    ]
    return Sampled([Group(a_task(), trajectories, rewards)])


IDLE = [0] * (IDLE_ITERATIONS - 1)


def history(*effective: int) -> list[dict[str, float]]:
    return [{"effective_groups": float(count)} for count in effective]


@pytest.mark.parametrize("before", [history(), history(5), history(0), history(0, 0, 5), history(0, 5, 0)])
def test_one_iteration_without_a_success_is_borne(before):
    assert _bear_with(sampled(0, 0), before, began=True) is None


def test_too_many_in_a_row_end_the_phase_and_keep_what_was_learned():
    ended = _bear_with(sampled(0, 0), history(5, *IDLE), began=True)
    assert "no trajectory succeeds" in ended


def test_where_nothing_was_ever_learned_the_run_ends_with_the_reason():
    with pytest.raises(NothingLearnable, match="no trajectory succeeds"):
        _bear_with(sampled(0, 0), history(*IDLE), began=True)
    assert _bear_with(sampled(0, 0), history(*IDLE), began=False), "the phase before has learned something"


def test_a_policy_that_masters_its_tasks_ends_no_run():
    assert _bear_with(sampled(1, 1), history(*[0] * 20), began=True) is None


def test_where_everything_is_masked_the_run_ends_at_once():
    with pytest.raises(NothingLearnable, match="masked"):
        _bear_with(sampled(0, 0, masked=True), history(5), began=True)


def test_what_was_masked_is_counted_by_its_reason():
    one, two = sampled(0, 0, masked=True), sampled(1, 0)
    (group,) = one.groups
    blocked = group.trajectories[0].model_copy(update={"termination": Termination.BLOCKED})
    shares = masked_shares(Sampled([Group(group.task, [blocked, group.trajectories[1]], group.rewards), *two.groups]))
    assert {name: share for name, share in shares.items() if share} == {"masked_blocked": 0.25, "masked_judge": 0.25}
    assert set(shares) > {"masked_env_error", "masked_sandbox_error", "masked_inference_timeout"}


class AnswersAtOnce:
    """A policy that says `done` with an answer, whatever it sees."""

    def __init__(self, version: str) -> None:
        self.version = version

    def prompt_tokens(self, prompt: Prompt) -> int:
        return 0

    async def complete(self, request: Request) -> Completion:
        return Completion([], [], format_response("", [format_call("done", answer="b")]), "stop")


async def answers(version: str) -> AbstractAsyncContextManager[Policy]:
    return nullcontext(AnswersAtOnce(version))


async def refuses(trajectories: list[Trajectory]) -> list[Verdict]:
    return [a_verdict(one, Outcome.FAILURE) for one in trajectories]


def test_a_run_whose_judge_passes_nothing_goes_on_over_idle_iterations_and_ends_with_the_reason(tmp_path):
    """Real pages, rollouts and checkpoints, twice: as the first phase, and after one that has learned something."""
    small = {"rl__group_size": 2, "rl__effective_groups": 1, "rl__max_sampled_groups": 1}
    params = parse(raw_recipe(**small))
    learner = Learner.begin(random_vlm(), params, Team())
    before = torch.cat([parameter.detach().flatten().clone() for parameter in learner.vlm.trainable()])
    told: list[dict[str, float]] = []

    def report(figures: dict[str, float], judged: list[Trajectory], verdicts: list[Verdict]) -> None:
        assert [one.trajectory_id for one in judged] == [one.trajectory_id for one in verdicts]
        assert {one.answer for one in judged} == {"b"}
        assert len(judged) == 2
        told.append(figures)

    async def both() -> Trained:
        async with BrowserPool(params.browser, site=MiniWoB(), text="elements") as pool:

            def phase(state: Path, earlier: SamplerState | None):
                state.mkdir()
                phase, silent = RLPhase(iterations=9, max_steps=1), lambda *said: None
                given = (learner, phase, "test", TASKS, pool, answers, refuses, state, silent, report, earlier)
                return train_rl(*given)

            with pytest.raises(NothingLearnable, match="no trajectory succeeds; train SFT longer"):
                await phase(tmp_path / "first", None)
            assert [one["iteration"] for one in told] == [1, 2]
            return await phase(tmp_path / "second", SamplerState())

    trained = asyncio.run(both())
    assert trained.ended is not None
    assert "no trajectory succeeds" in trained.ended
    assert trained.figures == told[2:]
    assert [one["iteration"] for one in trained.figures] == [1, 2, 3]
    for one in told:
        assert (one["sampled_groups"], one["effective_groups"], one["turns"], one["steps"]) == (1, 0, 0, 0)
        assert (one["reward_mean"], one["masked_share"], one["loss"]) == (0, 0, 0)
        assert "groups 0/1" in health_line(one)
    after = torch.cat([parameter.detach().flatten() for parameter in learner.vlm.trainable()])
    assert torch.equal(before, after)
    saved = learner.load(tmp_path / "first" / CHECKPOINT)
    assert saved is not None
    assert (saved["iteration"], len(saved["figures"])) == (2, 2)
