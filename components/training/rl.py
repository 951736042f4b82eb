"""The RL loop: roll out, reward, update, checkpoint, until the phase's iterations are done.

Killed at any moment and started again with the same state directory, it goes on with the iteration that was under way:
finished episodes come from that iteration's journal, everything else from the last checkpoint (trained weights,
optimiser, the sampler's memory, figures). Each iteration's draws depend only on seeds and on the policy, so the figures
of a resumed run are those of an uninterrupted one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from components.agent import EpisodeSettings, Policy, Renderer
from components.browser import Environments
from components.judge import needs_judge, reward
from components.params import Params, RLPhase, SamplingParams
from components.policies import VLM, Encoder, OpenPolicy
from components.records import Task, Termination, Trajectory, Verdict
from components.rollout import (
    Group,
    NothingLearnable,
    Sampled,
    SamplerState,
    TaskSampler,
    collect,
    sample_groups,
    specs,
)
from components.store import Journal, publish
from components.training.objectives import OBJECTIVES
from components.training.update import NO_UPDATE, UpdateStats, update

JudgeFn = Callable[[list[Trajectory]], Awaitable[list[Verdict]]]
"""Judges trajectories; asked only about those that need a judge."""

Progress = Callable[[float, int, str], None]
Report = Callable[[dict[str, float], list[Trajectory], list[Verdict]], None]


IDLE_ITERATIONS = 3
"""So many iterations in a row without an effective group end the phase."""


@dataclass
class RLState:
    """What a checkpoint holds besides the weights."""

    iteration: int
    sampler: SamplerState
    figures: list[dict[str, float]]


@dataclass(frozen=True)
class Trained:
    """What a phase leaves besides the weights: its figures, the sampler's memory, and why it ended early if it did."""

    figures: list[dict[str, float]]
    sampler: SamplerState
    ended: str | None = None


async def train_rl(
    vlm: VLM,
    encoder: Encoder,
    params: Params,
    phase: RLPhase,
    name: str,
    tasks: list[Task],
    pool: Environments,
    open_policy: OpenPolicy,
    judge: JudgeFn,
    state_dir: Path,
    progress: Progress,
    report: Report,
    earlier: SamplerState | None = None,
) -> Trained:
    """Run one phase in place on `vlm`; return the figures of every iteration, those before a crash included.

    `open_policy` opens what rolls out: `vlm` as it is then. `progress` gets iterations done, iterations in all, and a
    line; `report` gets an iteration's figures, its judged trajectories and their verdicts, and hears of the last
    finished iteration again after a crash. `earlier` is what the phase before remembers of the tasks. After
    `IDLE_ITERATIONS` in a row without a group with a spread of rewards the phase ends early, unless the policy masters
    its tasks.

    Raises:
        NothingLearnable: that happened before anything was learned at all, or everything was masked.
        Diverged: a gradient is not finite.
        TrainerMismatch: the trainer does not see what the policy saw.
    """
    if params.model.lora is not None:
        vlm.add_lora(params.model.lora.model_copy(update={"dropout": 0.0}), params.seed)
    if not params.model.train_vision:
        vlm.freeze_vision()
    rl = params.rl
    optimizer = torch.optim.AdamW(vlm.trainable(), lr=rl.lr, betas=rl.betas, weight_decay=rl.weight_decay)
    held = OBJECTIVES[rl.objective].needs_reference and rl.kl > 0
    reference = vlm.frozen_copy() if held else None  # before a checkpoint's weights are loaded
    state = _resume(state_dir, vlm, optimizer, earlier or SamplerState())
    if state.figures:
        report(state.figures[-1], [], [])
    loop = _Loop(vlm, encoder, params, phase, name, tasks, pool, open_policy, judge, state_dir, progress, reference)
    ended: str | None = None
    while state.iteration < phase.iterations and not ended:
        number = state.iteration + 1
        sampler = TaskSampler(tasks, params.seed, rl.task_sampling == "adaptive", state.sampler)
        started = time.monotonic()
        sampled = await loop.sample(number, sampler)
        spent = {"rollout_s": time.monotonic() - started - loop.judge_s, "judge_s": loop.judge_s}
        idle = not sampled.effective
        if idle:
            ended = _bear_with(sampled, state.figures, began=earlier is None)
        stats = NO_UPDATE if idle else await asyncio.to_thread(loop.update, number, sampled.effective, optimizer)
        figures = {"iteration": float(number), **_figures(sampled, sampler), **spent, **asdict(stats)}
        figures = {key: round(value, 8) for key, value in figures.items()}
        state = RLState(number, sampler.state, [*state.figures, figures])
        _checkpoint(state_dir, vlm, optimizer, state)
        loop.journal_path(number).unlink()
        judged = [t for group in sampled.groups for t in group.trajectories if t.trajectory_id in loop.verdicts]
        report(figures, judged, [loop.verdicts[t.trajectory_id] for t in judged])
        progress(number, phase.iterations, f"iteration {number}: reward {figures['pool_reward']:.3f}")
    return Trained(state.figures, state.sampler, ended)


def _bear_with(sampled: Sampled, figures: list[dict[str, float]], began: bool) -> str | None:
    """An iteration without an effective group changes nothing, and the next one sees other tasks; some are too many.

    Returns why the phase ends here, or None. `began` tells that no phase came before.
    """
    idle = [one["effective_groups"] == 0 for one in figures]
    masked = all(reward.masked for group in sampled.groups for reward in group.rewards)
    stuck = len(idle) >= IDLE_ITERATIONS - 1 and all(idle[-(IDLE_ITERATIONS - 1) :]) and not sampled.mastered
    if masked or (stuck and began and all(idle)):
        raise NothingLearnable(sampled.why_nothing())
    return sampled.why_nothing() if stuck else None


@dataclass
class _Loop:
    """One phase: what its iterations share."""

    vlm: VLM
    encoder: Encoder
    params: Params
    phase: RLPhase
    name: str
    tasks: list[Task]
    pool: Environments
    open_policy: OpenPolicy
    judge: JudgeFn
    state_dir: Path
    progress: Progress
    reference: VLM | None
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    furthest: float = 0.0
    judge_s: float = 0.0
    """Seconds that this iteration waited for the judge."""

    def __post_init__(self) -> None:
        self.renderer = Renderer(self.params.agent, self.params.observation, self.params.model.think_prefix)
        self.objective = OBJECTIVES[self.params.rl.objective]

    def journal_path(self, number: int) -> Path:
        return self.state_dir / f"episodes-{number:04d}.jsonl"

    async def sample(self, number: int, sampler: TaskSampler) -> Sampled:
        """Groups of an iteration, rolled out with the weights as they are."""
        rl = self.params.rl
        self.verdicts.clear()
        self.judge_s = 0.0
        version = f"{self.name}@{number - 1}:{self.state_dir.name}"
        with Journal(self.journal_path(number), Trajectory) as journal:
            async with self.open_policy(version) as policy:
                return await sample_groups(
                    sampler,
                    lambda wave: self._roll(number, wave, policy, journal),
                    rl.effective_groups,
                    min(rl.max_sampled_groups, len(self.tasks)),
                )

    async def _roll(self, number: int, wave: list[Task], policy: Policy, journal: Journal[Trajectory]) -> list[Group]:
        size = self.params.rl.group_size
        trajectories = await collect(
            specs(wave, size, policy.version, self.params.seed),
            self.pool,
            lambda spec, session: policy,
            EpisodeSettings(
                self.renderer,
                self.params.agent,
                SamplingParams(temperature=self.params.rl.temperature),
                self.phase.max_steps,
                self.params.agent.max_response_tokens,
            ),
            journal,
            lambda done, total: self._say(number, done / total / 2, f"episode {done}/{total}"),
        )
        began = time.monotonic()
        for verdict in await self.judge([t for t in trajectories if needs_judge(t)]):
            self.verdicts[verdict.trajectory_id] = verdict
        self.judge_s += time.monotonic() - began
        members = [trajectories[begin : begin + size] for begin in range(0, len(trajectories), size)]
        return [
            Group(
                task, group, [reward(t, self.verdicts.get(t.trajectory_id)) for t in group], self.objective.needs_spread
            )
            for task, group in zip(wave, members, strict=True)
        ]

    def update(self, number: int, groups: list[Group], optimizer: torch.optim.Optimizer) -> UpdateStats:
        """One update on the effective groups."""
        return update(
            self.vlm,
            self.encoder,
            self.renderer,
            groups,
            self.params.rl,
            optimizer,
            self.params.seed * 100_003 + number,
            lambda done, total: self._say(number, 0.5 + done / total / 2, f"step {done}/{total}"),
            self.reference,
        )

    def _say(self, number: int, share: float, message: str) -> None:
        self.furthest = max(self.furthest, number - 1 + share)  # each wave of episodes counts from 0 again
        self.progress(self.furthest, self.phase.iterations, f"iteration {number}: {message}")


def _figures(sampled: Sampled, sampler: TaskSampler) -> dict[str, float]:
    """Health of an iteration's rollouts."""
    trajectories = [t for group in sampled.groups for t in group.trajectories]
    rewards = [r for group in sampled.groups for r in group.rewards]
    scored = [r.value for r in rewards if not r.masked]
    return {
        "reward_mean": _mean(scored),
        "pool_reward": sampler.pool_reward(),
        "success_rate": _mean([float(value > 0) for value in scored]),
        "effective_groups": len(sampled.effective),
        "sampled_groups": len(sampled.groups),
        "masked_share": _mean([float(r.masked) for r in rewards]),
        **_masked_shares(sampled),
        "format_ok_share": _mean([float(r.format_ok) for r in rewards]),
        "entropy_estimate": _surprise(trajectories),
        "turns_mean": _mean([float(len(t.turns)) for t in trajectories]),
        "response_tokens_mean": _mean([float(len(turn.token_ids)) for t in trajectories for turn in t.turns]),
    }


def _masked_shares(sampled: Sampled) -> dict[str, float]:
    """Why members were masked, as shares of all: what ended the episode, or else the judge."""
    pairs = [pair for group in sampled.groups for pair in zip(group.trajectories, group.rewards, strict=True)]
    reasons = {
        f"masked_{end}": [reward.masked and trajectory.termination is end for trajectory, reward in pairs]
        for end in Termination
        if not end.is_agents_doing
    }
    by_judge = [reward.masked and trajectory.termination.is_agents_doing for trajectory, reward in pairs]
    return {name: _mean([float(hit) for hit in hits]) for name, hits in {**reasons, "masked_judge": by_judge}.items()}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _surprise(trajectories: list[Trajectory]) -> float:
    """Mean of -log p over the sampled tokens: an unbiased estimate of the policy's entropy per token, in nats."""
    return _mean([-logprob for t in trajectories for turn in t.turns for logprob in turn.logprobs])


def _checkpoint(state_dir: Path, vlm: VLM, optimizer: torch.optim.Optimizer, state: RLState) -> None:
    partial = state_dir / ".checkpoint.part"
    torch.save({"model": _trained_state(vlm), "optimizer": optimizer.state_dict(), "state": asdict(state)}, partial)
    publish(partial, state_dir / "checkpoint.pt")


def _resume(state_dir: Path, vlm: VLM, optimizer: torch.optim.Optimizer, fresh: SamplerState) -> RLState:
    path = state_dir / "checkpoint.pt"
    if not path.exists():
        return RLState(0, fresh, [])
    saved: dict[str, Any] = torch.load(path, map_location=vlm.model.device, weights_only=True)
    if missing := _trained_state(vlm).keys() - saved["model"].keys():
        raise RuntimeError(
            f"{path} does not hold {min(missing)}, which is trained now: delete it to begin the phase anew"
        )
    vlm.model.load_state_dict(saved["model"], strict=False)
    optimizer.load_state_dict(saved["optimizer"])
    state = saved["state"]
    return RLState(state["iteration"], SamplerState(**state["sampler"]), state["figures"])


def _trained_state(vlm: VLM) -> dict[str, torch.Tensor]:
    """The model's state without its frozen parameters, which are as the stage loaded them."""
    model = vlm.model
    frozen = {name for name, p in model.named_parameters(remove_duplicate=False) if not p.requires_grad}
    return {name: tensor for name, tensor in model.state_dict().items() if name not in frozen}
