"""Iterations that find nothing to learn from: some are borne, some end the run with the reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

import pytest
import torch

from components.agent import Completion, EpisodeSpec, Policy, Prompt, Request, format_call, format_response
from components.browser import BrowserPool
from components.params import RLPhase, parse
from components.records import Outcome, Reward, Termination, Trajectory, Verdict
from components.rollout import Group, NothingLearnableError, SampledGroups, SamplerState
from components.training.checkpoints import Checkpoints
from components.training.health import health_line, masked_shares
from components.training.learner import Learner
from components.training.rl import RLTrainer, TrainedPhase, ended_by_idleness
from components.training.rl_rollouts import RolloutSetup
from components.training.workers import Workers
from components.worlds.miniwob.site import MiniWoBSite
from tests.samples import a_task, a_trajectory, a_verdict, raw_recipe
from tests.training import rl_without_pages
from tests.training.rl_child import TASKS
from tests.vlm import random_vlm


def sampled(*values: float, masked: bool = False) -> SampledGroups:
    trajectories = [a_trajectory(attempt=attempt) for attempt in range(len(values))]
    rewards = [
        Reward(trajectory_id=t.trajectory_id, value=value, masked=masked, format_ok=True)
        for t, value in zip(trajectories, values, strict=True)
    ]
    return SampledGroups([Group(a_task(), trajectories, rewards)])


LIMIT = 3
IDLE = [0] * (LIMIT - 1)


def history(*effective: int) -> list[dict[str, float]]:
    return [{"effective_groups": float(count)} for count in effective]


@pytest.mark.parametrize("before", [history(), history(5), history(0), history(0, 0, 5), history(0, 5, 0)])
def test_one_iteration_without_a_success_does_not_end_the_phase(before):
    assert ended_by_idleness(sampled(0, 0), before, is_first_phase=True, limit=LIMIT) is None


def test_too_many_idle_iterations_end_the_phase_and_keep_the_weights():
    ended = ended_by_idleness(sampled(0, 0), history(5, *IDLE), is_first_phase=True, limit=LIMIT)
    assert "no trajectory succeeds" in ended


def test_idle_iterations_before_a_rollback_do_not_end_the_phase():
    before = history(5, *[0] * LIMIT)
    before[-1]["rolled_back_to"] = 1.0
    assert ended_by_idleness(sampled(0, 0), before, is_first_phase=True, limit=LIMIT) is None
    assert ended_by_idleness(sampled(0, 0), [*before, *history(*IDLE)], is_first_phase=True, limit=LIMIT)


def test_a_run_that_never_learned_anything_ends_with_the_reason():
    with pytest.raises(NothingLearnableError, match="no trajectory succeeds"):
        ended_by_idleness(sampled(0, 0), history(*IDLE), is_first_phase=True, limit=LIMIT)
    assert ended_by_idleness(sampled(0, 0), history(*IDLE), is_first_phase=False, limit=LIMIT), (
        "the phase before has learned something"
    )


@pytest.mark.parametrize(("limit", "before", "ends"), [(1, (5,), True), (2, (5,), False), (2, (5, 0), True)])
def test_the_recipe_says_how_many_idle_iterations_end_a_phase(limit, before, ends):
    assert bool(ended_by_idleness(sampled(0, 0), history(*before), is_first_phase=True, limit=limit)) is ends


def test_a_policy_that_masters_its_tasks_ends_no_run():
    assert ended_by_idleness(sampled(1, 1), history(*[0] * 20), is_first_phase=True, limit=LIMIT) is None


def test_a_run_in_which_everything_is_masked_ends_at_once():
    with pytest.raises(NothingLearnableError, match="masked"):
        ended_by_idleness(sampled(0, 0, masked=True), history(5), is_first_phase=True, limit=LIMIT)


@pytest.mark.parametrize("value", [0, 1])
def test_a_judge_that_fails_for_most_attempts_ends_no_phase_for_good(value):
    """Attempts that need no judge are scored although it is down; nothing is known of the others."""
    (group,) = sampled(value, 0, 0, 0).groups
    masked = [reward.model_copy(update={"masked": place > 0}) for place, reward in enumerate(group.rewards)]
    failing = SampledGroups([Group(group.task, group.trajectories, masked)])
    assert ended_by_idleness(failing, history(5), is_first_phase=True, limit=LIMIT) is None
    with pytest.raises(NothingLearnableError, match="3 of 4 trajectories are masked, the environment or the judge"):
        ended_by_idleness(failing, history(5, *IDLE), is_first_phase=True, limit=LIMIT)


def test_an_iteration_without_attempts_ends_at_once():
    with pytest.raises(NothingLearnableError, match="all 0 trajectories are masked"):
        ended_by_idleness(SampledGroups([]), history(5), is_first_phase=True, limit=LIMIT)


def test_masked_trajectories_are_counted_by_reason():
    one, two = sampled(0, 0, masked=True), sampled(1, 0)
    (group,) = one.groups
    blocked = group.trajectories[0].model_copy(update={"termination": Termination.BLOCKED})
    shares = masked_shares(
        SampledGroups([Group(group.task, [blocked, group.trajectories[1]], group.rewards), *two.groups])
    )
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


@pytest.mark.slow
def test_a_run_without_successes_ends_with_a_reason_after_idle_iterations(tmp_path):
    """Real pages, rollouts and checkpoints, first, after a phase of 0 iterations, and after one that learned."""
    small = {"rl__group_size": 2, "rl__effective_groups": 1, "rl__max_sampled_groups": 1}
    params = parse(raw_recipe(**small))
    learner = Learner.begin(random_vlm(), params)
    before = torch.cat([parameter.detach().flatten().clone() for parameter in learner.vlm.trainable()])
    told: list[dict[str, float]] = []

    def report(figures: dict[str, float], judged: list[Trajectory], verdicts: list[Verdict]) -> None:
        assert [one.trajectory_id for one in judged] == [one.trajectory_id for one in verdicts]
        assert {one.answer for one in judged} == {"b"}
        assert len(judged) == 2
        told.append(figures)

    async def both() -> TrainedPhase:
        async with BrowserPool(params.browser, site=MiniWoBSite(), text="elements") as pool:

            def phase(state: Path, earlier: SamplerState | None):
                state.mkdir()
                phase, silent = RLPhase(iterations=9, max_steps=1), lambda *said: None
                learners = Workers().replicate(lambda workers: learner)
                setup = RolloutSetup(TASKS, pool, answers, refuses)
                return RLTrainer(learners, phase, "test", setup, state, silent, report, earlier).run()

            for name, earlier in (("skipped", SamplerState()), ("first", None)):
                told.clear()
                with pytest.raises(NothingLearnableError, match="no trajectory succeeds; train SFT longer"):
                    await phase(tmp_path / name, earlier)
                assert [one["iteration"] for one in told] == [1, 2]
            return await phase(tmp_path / "second", SamplerState(effective=1))

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
    checkpoints = Checkpoints(tmp_path / "first")
    assert checkpoints.iterations == [2], "the newest alone is kept"
    saved = learner.load(checkpoints.path(2))
    assert saved is not None
    assert (saved["iteration"], len(saved["figures"])) == (2, 2)


@pytest.mark.parametrize(("effective", "raises"), [(0, True), (1, False)])
def test_a_phase_before_counts_if_it_had_something_to_learn_from(tmp_path, monkeypatch, effective, raises):
    """Tasks that it drew in vain teach nothing."""
    earlier = SamplerState(draws=9, effective=effective)
    options = {"succeeds": lambda trajectory: False, "earlier": earlier}
    with pytest.raises(NothingLearnableError, match="no trajectory succeeds") if raises else nullcontext():
        trained = rl_without_pages.train(monkeypatch, tmp_path, 6, **options)[0]
        assert trained.ended is not None


@pytest.fixture
def ended_phase(tmp_path, monkeypatch) -> Callable[..., TrainedPhase]:
    """Runs a phase of 6 iterations whose attempts all fail until the policy had 3 updates, and then every other one."""

    def run(ends: Callable[[EpisodeSpec], Termination] = rl_without_pages.done) -> TrainedPhase:
        def succeeds(trajectory: Trajectory) -> bool:
            before = trajectory.policy.startswith(("test@0:", "test@1:", "test@2:"))
            return not before and rl_without_pages.even_attempts(trajectory)

        options = {"ends": ends, "succeeds": succeeds, "validate": 5, "earlier": SamplerState(effective=1)}
        return rl_without_pages.train(monkeypatch, tmp_path, 6, **options)[0]

    return run


def test_an_ended_phase_that_is_killed_in_its_last_validation_stays_ended(ended_phase):
    with pytest.raises(rl_without_pages.Killed):
        ended_phase(ends=rl_without_pages.killed_in_validation(3))
    first, again = ended_phase(), ended_phase()
    assert first.ended is not None
    assert "no trajectory succeeds" in first.ended
    assert [figures["iteration"] for figures in first.figures] == [1, 2, 3]
    assert [validation.iteration for validation in first.validations] == [0, 3]
    assert again == first, "a run after the end changes nothing"


@pytest.mark.slow
def test_a_phase_that_ends_early_measures_the_kl_of_its_last_policy(ended_phase):
    trained = ended_phase()
    assert [figures.get("kl_sft") is not None for figures in trained.figures] == [False, False, True]
    assert [validation.kl_sft is not None for validation in trained.validations] == [False, True]


def test_a_checkpoint_from_before_endings_were_saved_still_loads(tmp_path, monkeypatch):
    first, _ = rl_without_pages.train(monkeypatch, tmp_path, 1)
    newest = Checkpoints(tmp_path).newest
    saved = torch.load(newest, weights_only=True)
    del saved["state"]["ended"]
    torch.save(saved, newest)
    assert rl_without_pages.train(monkeypatch, tmp_path, 1)[0].figures == first.figures
