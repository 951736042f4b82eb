"""The RL loop: roll out, reward, update, checkpoint, until the phase's iterations are done.

Killed at any moment and started again with the same state directory, it goes on with the iteration that was under way:
finished episodes come from that iteration's journal, everything else from the last checkpoint (model, optimiser, the
sampler's memory, figures). Each iteration's draws depend only on seeds and on the policy, so the figures of a resumed
run are those of an uninterrupted one.

With `rl.async` iterations roll out while those before them update: iteration n with the weights of
max(0, n - 1 - `rl.max_staleness`) updates. So staleness is the same in every run, and the order of all draws is too.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from components.agent import EpisodeSettings, Policy, Renderer
from components.browser import Environments
from components.judge import JudgeFn, needs_judge, probes_of, require_rules, reward
from components.params import RLPhase, SamplingParams
from components.policies import OpenPolicy
from components.records import Task, Trajectory, Verdict
from components.rollout import (
    Group,
    NothingLearnable,
    Sampled,
    SamplerState,
    TaskSampler,
    collect,
    paced,
    sample_groups,
    specs,
)
from components.store import Journal
from components.training.health import audit_figures, rollout_figures
from components.training.learner import Learner, keep, learn, resume
from components.training.objectives import OBJECTIVES
from components.training.objectives.rft import funnel_figures, selected
from components.training.team import Team
from components.training.update import NO_UPDATE

Progress = Callable[[float, int, str], None]
Report = Callable[[dict[str, float], list[Trajectory], list[Verdict]], None]

CHECKPOINT = "checkpoint.pt"
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
    learner: Learner,
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
    team: Team | None = None,
    audit: JudgeFn | None = None,
) -> Trained:
    """Run one phase on `learner`; return the figures of every iteration, those before a crash included.

    `open_policy` takes the learner's model as it is then, for what rolls out. `progress` gets iterations done, those
    in all, and a line; `report` gets an iteration's figures, its judged trajectories and their verdicts, and hears of
    the last finished iteration again after a crash. `earlier` is what the phase before remembers of the tasks. The
    others of a `team` must have enlisted. `audit` judges what `judge` judges, or some of it, to see how far the two
    agree; it rewards nothing. After `IDLE_ITERATIONS` in a row without a group with a spread of rewards the
    phase ends early, unless the policy masters its tasks.

    Raises:
        NothingLearnable: that happened before anything was learned at all, or everything was masked.
        Diverged: a gradient is not finite.
        TrainerMismatch: the trainer does not see what the policy saw.
        RuleError: the evaluator of a task cannot be used; before any episode.
    """
    require_rules(tasks)
    team, checkpoint = team or Team(), state_dir / CHECKPOINT
    team.held["learner"] = learner
    saved = team.run(resume, checkpoint)
    state = RLState(0, earlier or SamplerState(), [])
    if saved is not None:
        state = RLState(saved["iteration"], SamplerState(**saved["sampler"]), saved["figures"])
    if state.figures:
        report(state.figures[-1], [], [])
    loop = _Loop(learner, phase, name, tasks, pool, open_policy, judge, audit, state_dir, progress)
    ended: str | None = None
    try:
        await loop.resume(state)
        while state.iteration < phase.iterations and not ended:
            number, started = state.iteration + 1, time.monotonic()
            if not loop.rolling:
                await loop.start(number, state.sampler)
            rolled = await loop.rolling.popleft()
            if learner.params.rl.asynchronous:
                await loop.start(number + learner.params.rl.staleness, rolled.sampler.state)
            sampled, waited_s = rolled.sampled, time.monotonic() - started
            idle = not sampled.effective
            if idle:
                ended = _bear_with(sampled, state.figures, began=earlier is None)
                learner.remember(None)
            learner.progress = lambda done, total, number=number: loop.say(
                number, 0.5 + done / total / 2, f"step {done}/{total}"
            )
            selects = learner.params.rl.objective == "rft"
            groups = sampled.groups if selects else sampled.effective
            stats = NO_UPDATE if idle else await asyncio.to_thread(team.run, learn, groups, number)
            figures = {"iteration": float(number), **rollout_figures(sampled, rolled.sampler)}
            if selects:
                figures |= funnel_figures(selected(groups, learner.params.rl.max_per_source, learner.params.seed)[1])
            figures |= audit_figures(rolled.verdicts, rolled.audited)
            spent = {"rollout_s": rolled.wall_s - rolled.judge_s, "judge_s": rolled.judge_s, "waited_s": waited_s}
            figures = {key: round(value, 8) for key, value in {**figures, **spent, **asdict(stats)}.items()}
            state = RLState(number, rolled.sampler.state, [*state.figures, figures])
            team.run(keep, checkpoint, asdict(state))
            loop.journal_path(number).unlink()
            judged = [t for group in sampled.groups for t in group.trajectories if t.trajectory_id in rolled.verdicts]
            report(figures, judged, [rolled.verdicts[t.trajectory_id] for t in judged])
            progress(number, phase.iterations, f"iteration {number}: reward {figures['pool_reward']:.3f}")
    finally:
        for ahead in loop.rolling:
            ahead.cancel()
        await asyncio.gather(*loop.rolling, return_exceptions=True)
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
class _Rollouts:
    """An iteration's groups, and what came of them. The sampler is of this iteration alone."""

    sampler: TaskSampler
    sampled: Sampled = field(default_factory=lambda: Sampled([]))
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    audited: list[Verdict] = field(default_factory=list)
    judge_s: float = 0.0
    wall_s: float = 0.0


@dataclass
class _Loop:
    """One phase: what its iterations share."""

    learner: Learner
    phase: RLPhase
    name: str
    tasks: list[Task]
    pool: Environments
    open_policy: OpenPolicy
    judge: JudgeFn
    audit: JudgeFn | None
    state_dir: Path
    progress: Progress
    furthest: float = 0.0
    rolling: deque[asyncio.Task[_Rollouts]] = field(default_factory=deque)
    """Rollouts under way, by iteration; one begins when the one before it has ended."""

    def __post_init__(self) -> None:
        self.params = params = self.learner.params
        self.renderer = Renderer(params.agent, params.observation, params.model.think_prefix)
        self.seat = paced(self.pool, params.rollout)
        self.needs_spread = params.rl.objective == "rft" or OBJECTIVES[params.rl.objective].needs_spread

    def journal_path(self, number: int) -> Path:
        return self.state_dir / f"episodes-{number:04d}.jsonl"

    async def resume(self, state: RLState) -> None:
        """Begin the rollouts that the next update need not wait with, each with the weights that are due to it."""
        for number in range(state.iteration + 1, state.iteration + 1 + self.params.rl.staleness):
            with self.learner.updates_back(state.iteration - self._updates(number)):
                await self.start(number, state.sampler)

    async def start(self, number: int, before: SamplerState) -> None:
        """Begin an iteration's rollouts, with the model as it is now, once all that are under way have ended; if none
        are, the sampler goes on from `before`. Beyond the phase's end nothing begins."""
        if number > self.phase.iterations:
            return
        earlier = self.rolling[-1] if self.rolling else None
        taken = await self.open_policy(self._version(number))

        async def rollouts() -> _Rollouts:
            state = before if earlier is None else (await earlier).sampler.state
            rolled = _Rollouts(self._sampler(copy.deepcopy(state)))
            async with taken as policy:
                began = time.monotonic()
                with Journal(self.journal_path(number), Trajectory) as journal:
                    rolled.sampled = await sample_groups(
                        rolled.sampler,
                        lambda wave: self._roll(number, wave, policy, journal, rolled),
                        self.params.rl.effective_groups,
                        min(self.params.rl.max_sampled_groups, len(self.tasks)),
                    )
            rolled.wall_s = time.monotonic() - began
            return rolled

        self.rolling.append(asyncio.create_task(rollouts()))

    def _sampler(self, state: SamplerState) -> TaskSampler:
        rl = self.params.rl
        return TaskSampler(self.tasks, self.params.seed, rl.task_sampling == "adaptive", state, rl.task_ratio)

    def _updates(self, number: int) -> int:
        """Updates that the weights of an iteration's rollouts have behind them."""
        return max(0, number - 1 - self.params.rl.staleness)

    def _version(self, number: int) -> str:
        """The name of an iteration's policy: its weights, how stale they are, and whose state this is."""
        updates = self._updates(number)
        stale = f"+{number - 1 - updates}" if number - 1 > updates else ""
        return f"{self.name}@{updates}{stale}:{self.state_dir.name}"

    async def _roll(
        self, number: int, wave: list[Task], policy: Policy, journal: Journal[Trajectory], rolled: _Rollouts
    ) -> list[Group]:
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
                probes_of,
            ),
            journal,
            lambda done, total: self.say(number, done / total / 2, f"episode {done}/{total}"),
            self.seat,
        )
        began = time.monotonic()
        asked = [trajectory for trajectory in trajectories if needs_judge(trajectory)]
        verdicts = {verdict.trajectory_id: verdict for verdict in await self.judge(asked)}
        rolled.verdicts |= verdicts
        if self.audit is not None:
            rolled.audited += await self.audit(asked)
        rolled.judge_s += time.monotonic() - began
        members = [trajectories[begin : begin + size] for begin in range(0, len(trajectories), size)]
        wrong = self.params.rl.format_error
        return [
            Group(task, group, [reward(t, verdicts.get(t.trajectory_id), wrong) for t in group], self.needs_spread)
            for task, group in zip(wave, members, strict=True)
        ]

    def say(self, number: int, share: float, message: str) -> None:
        """Tell of the progress within an iteration."""
        self.furthest = max(self.furthest, number - 1 + share)  # each wave of episodes counts from 0 again
        self.progress(self.furthest, self.phase.iterations, f"iteration {number}: {message}")
