"""RL without a browser: a real small model answers pages of noise, and a test decides how each episode ends."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from components.agent import EpisodeSettings, EpisodeSpec
from components.agent.loop import trajectory_of
from components.judge.labelled_trajectories import REHEARSED, LabelledTrajectories
from components.model import Encoder
from components.params import CheckpointParams, RetrainParams, RLPhase, SamplingParams, ValidationParams
from components.policies.generation import Row, generate_batch
from components.records import Outcome, Task, Termination, Trajectory, Turn, Verdict
from components.rollout import SamplerState
from components.training.judge_retraining import RetrainedJudge
from components.training.learner import Learner
from components.training.rl import RLTrainer, TrainedPhase
from components.training.rl_rollouts import RolloutSetup, ValidationSetup
from components.training.validation import Validation
from components.training.workers import Workers
from tests.samples import a_verdict, recipe
from tests.vlm import AGENT, TASK, observation, random_vlm

TASKS = [TASK.model_copy(update={"task_id": f"t{number}"}) for number in range(4)]
VALIDATION = [task.model_copy(update={"task_id": f"v{task.task_id}", "split": "validation"}) for task in TASKS]


class Killed(Exception):
    """Raised by a test in an episode, it ends the run, as SIGKILL would: what is on disk stays as it is."""


def done(spec: EpisodeSpec) -> Termination:
    """Every episode is ended by the agent."""
    return Termination.DONE


def killed_in_validation(iteration: int) -> Callable[[EpisodeSpec], Termination]:
    """The run ends in the first episode of the validation after an iteration."""

    def ends(spec: EpisodeSpec) -> Termination:
        if spec.policy_version.startswith(f"test@{iteration}=validation"):
            raise Killed
        return Termination.DONE

    return ends


def killed_after(
    episodes: int, ends: Callable[[EpisodeSpec], Termination] = done
) -> Callable[[EpisodeSpec], Termination]:
    """The run ends when so many episodes have ended, as `ends` says."""
    left = episodes

    def count(spec: EpisodeSpec) -> Termination:
        nonlocal left
        if not left:
            raise Killed
        left -= 1
        return ends(spec)

    return count


def even_attempts(trajectory: Trajectory) -> bool:
    """Attempts 0, 2, … succeed."""
    return trajectory.attempt % 2 == 0


@dataclass
class Pool:
    """Sessions that no episode uses."""

    def session(self, task: Task) -> AbstractAsyncContextManager[None]:
        return nullcontext()


@dataclass
class Version:
    """A policy of which only the name is used."""

    version: str


def verdict(trajectory: Trajectory, success: bool) -> Verdict:
    return a_verdict(trajectory, Outcome.SUCCESS if success else Outcome.FAILURE)


async def open_policy(version: str) -> AbstractAsyncContextManager[Version]:
    return nullcontext(Version(version))


def train(
    monkeypatch: pytest.MonkeyPatch,
    state: Path,
    iterations: int,
    ends: Callable[[EpisodeSpec], Termination] = done,
    succeeds: Callable[[Trajectory], bool] = even_attempts,
    checkpoints: int = 1,
    validate: int = 0,
    earlier: SamplerState | None = None,
    before: Validation | None = None,
    warnings: list[str] | None = None,
    sft: Path | None = None,
    report: Callable[..., None] = lambda *report: None,
    beside: Callable[[], Awaitable[None]] | None = None,
    judges_batches: bool = False,
    audited: Callable[[Trajectory], bool] | None = None,
    min_precision: float = 0.0,
    retrain: RetrainParams | None = None,
    keys: Mapping[str, int] | None = None,
    pause_s: Callable[[EpisodeSpec], float] = lambda spec: 0.0,
) -> tuple[TrainedPhase, dict[str, torch.Tensor]]:
    """Run a phase with two groups of four in each iteration; its result and the weights at its end.

    Args:
        checkpoints: iterations from one checkpoint to the next.
        validate: iterations from one validation to the next; 0 for none.
        before: the validation of the phase before.
        warnings: gets those of the validations.
        sft: the directory of the model to which the KL is measured; None for a new one.
        report: gets the figures of iterations, and the validations.
        beside: runs in the same event loop until the phase has ended.
        judges_batches: whether the judge gets a wave's trajectories together.
        audited: what an auditor calls a success, in rollouts and in validations; None without an auditor.
        min_precision: `judge.trust.min_precision`.
        keys: further keys of the section `rl`.
        pause_s: seconds for which an episode waits before it ends.
        retrain: `judge.distill.retrain`: a judge learns what the auditor says. `succeeds` stays the reward.
    """
    params = recipe(rl__group_size=4, rl__max_sampled_groups=2, rl__lr=1e-3, rl__temperature=0.9)
    often = {
        "checkpoints": CheckpointParams(every=checkpoints),
        "validation": ValidationParams(every=validate, tasks=len(VALIDATION)),
        **(keys or {}),
    }
    trust = params.judge.trust.model_copy(update={"min_precision": min_precision})
    distill = params.judge.distill.model_copy(update={"retrain": retrain})
    judging = params.judge.model_copy(update={"trust": trust, "distill": distill})
    params = params.model_copy(update={"agent": AGENT, "judge": judging, "rl": params.rl.model_copy(update=often)})
    learner = Learner.begin(random_vlm(), params)
    encoder = Encoder(learner.vlm)

    async def run_episode(spec: EpisodeSpec, session: None, policy: Version, settings: EpisodeSettings) -> Trajectory:
        await asyncio.sleep(pause_s(spec))
        ended = ends(spec)
        if not ended.is_agents_doing:
            return trajectory_of(spec, "openwebrl", ended, {})
        shown = observation(spec.seed % 1000)
        prompt = settings.renderer.prompt(spec.task, [], shown)
        row = Row(encoder.encode(prompt), SamplingParams(temperature=0.9), 8, seed=spec.seed)
        (said,) = generate_batch(learner.vlm, encoder, [row])
        turn = Turn(
            index=0,
            observation=shown,
            prompt_sha256=prompt.sha256,
            prompt_tokens=1,
            response=said.text,
            token_ids=said.token_ids,
            logprobs=said.logprobs,
            finish_reason=said.finish_reason,
            tool_calls=[],
            feedback=[],
        )
        return trajectory_of(spec, "openwebrl", ended, {}, [turn], answer="b")

    async def judge(trajectories: list[Trajectory]) -> list[Verdict]:
        return [verdict(t, succeeds(t)) for t in trajectories]

    async def audit(trajectories: list[Trajectory]) -> list[Verdict]:
        return [verdict(t, (audited or succeeds)(t)) for t in trajectories]

    def report_validation(validations: list[Validation]) -> None:
        if warnings is not None:
            warnings.extend(warning.text for warning in validations[-1].warnings)
        report(validations)

    monkeypatch.setattr(importlib.import_module("components.rollout.collect"), "run_episode", run_episode)
    state.mkdir(parents=True, exist_ok=True)
    sft = state / "sft" if sft is None else sft
    if validate and not sft.exists():
        random_vlm().save(sft)
    retrained = None
    if retrain is not None:
        random_vlm().save(state / "distilled")
        LabelledTrajectories([], {}).write(state / "distilled" / REHEARSED)
        retrained = RetrainedJudge(state / "distilled", params, state)
    trainer = RLTrainer(
        Workers().replicate(lambda workers: learner),
        RLPhase(iterations=iterations, max_steps=1),
        "test",
        RolloutSetup(TASKS, Pool(), open_policy, judge, audit if audited else None, judges_batches, retrained),
        state,
        lambda *progress: None,
        report,
        earlier,
        ValidationSetup(VALIDATION, audit, sft, before) if validate else None,
        report_validation,
    )

    async def main() -> TrainedPhase:
        task = asyncio.ensure_future(beside()) if beside is not None else None
        trained = await trainer.run()
        if task is not None:
            task.cancel()
        return trained

    trained = asyncio.run(main())
    return trained, learner.vlm.model.state_dict()
