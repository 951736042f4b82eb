"""The RL loop: roll out, reward, update, checkpoint, until the phase's iterations are done.

A run that was killed at any moment and is started again with the same state directory continues with the iteration that
was under way: its finished episodes come from the iteration's journal, everything else comes from the last checkpoint
(model, optimiser, the task sampler's memory, figures). Each iteration's draws depend on seeds and on the policy alone,
so the figures of a resumed run are those of an uninterrupted one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from components.judge import require_rules
from components.params import RLPhase
from components.records import Trajectory, Verdict
from components.rollout import Group, NothingLearnableError, SampledGroups, SamplerState
from components.training.health import audit_figures, rollout_figures
from components.training.learner import Learner
from components.training.objectives import NO_UPDATE, UpdateStats
from components.training.rl_rollouts import IterationRollouts, RolloutQueue, RolloutSetup
from components.training.workers import Replicas

Progress = Callable[[float, int, str], None]
"""Gets iterations done, iterations in all, and a line."""
Report = Callable[[dict[str, float], list[Trajectory], list[Verdict]], None]
"""Gets an iteration's figures, its judged trajectories and their verdicts."""

CHECKPOINT = "checkpoint.pt"
IDLE_ITERATIONS = 3
"""This many iterations in a row without an effective group end the phase."""


@dataclass
class RLState:
    """The part of a checkpoint that is not weights."""

    iteration: int
    sampler: SamplerState
    figures: list[dict[str, float]]


@dataclass(frozen=True)
class TrainedPhase:
    """The result of a phase besides the weights."""

    figures: list[dict[str, float]]
    """Of every iteration, those before a crash included."""
    sampler: SamplerState
    ended: str | None = None
    """Why the phase ended early; None if it did not."""


@dataclass
class RLTrainer:
    """Trains the learners for one phase."""

    learners: Replicas[Learner]
    phase: RLPhase
    name: str
    """Names the phase in the policies' versions, and so in every draw."""
    rollouts: RolloutSetup
    state_dir: Path
    """Holds the checkpoint and the journals."""
    progress: Progress
    report: Report
    """After a crash it gets the figures of the last finished iteration again."""
    earlier: SamplerState | None = None
    """What the previous phase remembers of the tasks."""
    _furthest: float = field(default=0.0, init=False)

    async def run(self) -> TrainedPhase:
        """Run the phase, or the rest of it after a crash.

        After `IDLE_ITERATIONS` in a row without an effective group the phase ends early, unless the policy masters its
        tasks.

        Raises:
            NothingLearnableError: that happened before anything was learned at all, or every trajectory was masked.
            Diverged: a gradient is not finite.
            TrainerMismatch: the trainer does not see what the policy saw.
            RuleError: the evaluator of a task cannot be used; raised before any episode.
        """
        require_rules(self.rollouts.tasks)
        learner = self.learners.local
        state = self._restored()
        if state.figures:
            self.report(state.figures[-1], [], [])
        queue = RolloutQueue(learner, self.phase, self.name, self.rollouts, self.state_dir, self._say)
        ended: str | None = None
        try:
            await queue.resume(state.iteration, state.sampler)
            while state.iteration < self.phase.iterations and not ended:
                number, began = state.iteration + 1, time.monotonic()
                rollouts = await queue.next(number, state.sampler)
                if learner.params.rl.max_staleness:
                    await queue.start(number + learner.params.rl.max_staleness, rollouts.sampler.state)
                waited_s = time.monotonic() - began
                if not rollouts.sampled.effective:
                    ended = ended_by_idleness(rollouts.sampled, state.figures, is_first_phase=self.earlier is None)
                figures = await self._update(number, rollouts, waited_s)
                state = RLState(number, rollouts.sampler.state, [*state.figures, figures])
                self.learners.run(Learner.save, self.state_dir / CHECKPOINT, asdict(state))
                queue.journal_path(number).unlink()
                self.report(figures, *rollouts.judged)
                self.progress(number, self.phase.iterations, f"iteration {number}: reward {figures['pool_reward']:.3f}")
        finally:
            await queue.cancel()
        return TrainedPhase(state.figures, state.sampler, ended)

    def _restored(self) -> RLState:
        """The state of the last checkpoint, or that of the beginning."""
        saved = self.learners.run(Learner.load, self.state_dir / CHECKPOINT)
        if saved is None:
            return RLState(0, self.earlier or SamplerState(), [])
        return RLState(saved["iteration"], SamplerState(**saved["sampler"]), saved["figures"])

    async def _update(self, number: int, rollouts: IterationRollouts, waited_s: float) -> dict[str, float]:
        """Update the learners, unless no group is effective; the iteration's figures, rounded to 8 digits."""
        learner, sampled = self.learners.local, rollouts.sampled
        groups = learner.objective.training_groups(sampled)
        if sampled.effective:
            stats = await asyncio.to_thread(self._update_learners, groups, number)
        else:
            learner.remember(None)
            stats = NO_UPDATE
        figures = {
            "iteration": float(number),
            **rollout_figures(sampled, rollouts.sampler),
            **learner.objective.figures(groups),
            **audit_figures(rollouts.verdicts, rollouts.audited),
            "rollout_s": rollouts.wall_s - rollouts.judge_s,
            "judge_s": rollouts.judge_s,
            "waited_s": waited_s,
            **asdict(stats),
        }
        return {name: round(value, 8) for name, value in figures.items()}

    def _update_learners(self, groups: list[Group], number: int) -> UpdateStats:
        def progress(done: int, total: int) -> None:
            self._say(number, 0.5 + done / total / 2, f"step {done}/{total}")

        self.learners.local.progress = progress
        return self.learners.run(Learner.update, groups, number)

    def _say(self, number: int, share: float, message: str) -> None:
        """Report progress within an iteration. Each wave of episodes counts from 0 again, the progress never falls."""
        self._furthest = max(self._furthest, number - 1 + share)
        self.progress(self._furthest, self.phase.iterations, f"iteration {number}: {message}")


def ended_by_idleness(sampled: SampledGroups, figures: list[dict[str, float]], is_first_phase: bool) -> str | None:
    """Why the phase ends after an iteration without an effective group; None if it continues.

    Such an iteration changes nothing, and the next one samples other tasks, so a few are tolerated.

    Args:
        figures: of the iterations before this one.
        is_first_phase: no phase came before, so nothing may have been learned yet.

    Raises:
        NothingLearnableError: every trajectory is masked, or nothing was learned before.
    """
    was_idle = [iteration["effective_groups"] == 0 for iteration in figures]
    all_masked = all(reward.masked for group in sampled.groups for reward in group.rewards)
    stuck = len(was_idle) >= IDLE_ITERATIONS - 1 and all(was_idle[-(IDLE_ITERATIONS - 1) :]) and not sampled.mastered
    if all_masked or (stuck and is_first_phase and all(was_idle)):
        raise NothingLearnableError(sampled.why_none_is_effective())
    return sampled.why_none_is_effective() if stuck else None
