"""The RL loop: roll out, reward, update, checkpoint, validate, until the phase's iterations are done.

A run that was killed at any moment and is started again with the same state directory continues from the last
checkpoint (model, optimiser, the task sampler's memory, figures): the iterations after it are computed again from the
journals of their episodes, and the one that was under way goes on. Episodes that the environment ended are repeated
only if their iteration was not learned from yet. Each iteration's draws depend on seeds and on the policy alone, so the
figures of a resumed run are those of an uninterrupted one, its validations and a rollback included.

What takes seconds or more runs in a thread: updates, checkpoints, the KL, reports. Meanwhile the event loop serves the
rollouts under way and tells servers by URL that the stage is alive.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from components.judge import require_rules
from components.params import RLPhase
from components.records import Trajectory, Verdict
from components.rollout import Group, NothingLearnableError, SampledGroups, SamplerState
from components.training.agreement import TrainerMismatch
from components.training.audit import audit_figures, ended_by_imprecision, successes
from components.training.checkpoints import Checkpoints
from components.training.health import branch_figures, rollout_figures
from components.training.learner import Learner
from components.training.objectives import NO_UPDATE, UpdateStats
from components.training.phase_validation import PhaseValidations, ReportValidation, kl_figure
from components.training.rl_rollouts import IterationRollouts, RolloutQueue, RolloutSetup, ValidationSetup
from components.training.selection import Choice, Comparison, Rollback, best, choose, policy_to_restore, since_rollback
from components.training.validation import FamilyTally, Tallies, Validation, tallied
from components.training.workers import Replicas

Progress = Callable[[float, int, str], None]
"""Gets iterations done, iterations in all, and a line."""
Report = Callable[[dict[str, float], list[Trajectory], list[Verdict]], None]
"""Gets an iteration's figures, its judged trajectories and their verdicts. Called in a thread of a pool."""

T = TypeVar("T")


@dataclass
class RLState:
    """The part of a checkpoint that is not weights."""

    iteration: int
    sampler: SamplerState
    figures: list[dict[str, float]]
    tallies: Tallies = field(default_factory=dict)
    """Of the rollouts since the last validation."""
    rollbacks: list[Rollback] = field(default_factory=list)
    ended: str | None = None
    """Why the phase ended early; None if it did not."""


@dataclass(frozen=True)
class TrainedPhase:
    """The result of a phase besides the weights."""

    figures: list[dict[str, float]]
    """Of every iteration, those before a crash included."""
    sampler: SamplerState
    published: Choice
    """The policy that the learners hold now."""
    ended: str | None = None
    """Why the phase ended early; None if it did not."""
    validations: list[Validation] = field(default_factory=list)
    """In order; those before a crash included."""
    rollbacks: list[Rollback] = field(default_factory=list)
    checkpoints: list[dict[str, float]] = field(default_factory=list)
    """What each checkpoint took (`Checkpoints.table`)."""

    @property
    def published_validation(self) -> Validation | None:
        """The validation of the policy that is published; None if it was not validated."""
        restored = {rollback.iteration: rollback.to for rollback in self.rollbacks}
        iteration = self.published.iteration
        while iteration in restored:
            iteration = restored[iteration]
        return next((record for record in self.validations if record.iteration == iteration), None)


@dataclass
class RLTrainer:
    """Trains the learners for one phase."""

    learners: Replicas[Learner]
    phase: RLPhase
    name: str
    """Names the phase in the policies' versions, and so in every draw."""
    rollouts: RolloutSetup
    state_dir: Path
    """Holds the checkpoints and the journals."""
    progress: Progress
    report: Report
    """After a crash it gets the figures of the last finished iteration again."""
    earlier: SamplerState | None = None
    """What the previous phase remembers of the tasks."""
    validation: ValidationSetup | None = None
    """None: the run does not validate, whatever the recipe says."""
    report_validation: ReportValidation = lambda validations: None
    report_rollback: Callable[[Rollback, Comparison], None] = lambda rollback, comparison: None
    """Gets how the validation compares with the one to which the phase goes back. Called in a thread of a pool."""
    _furthest: float = field(default=0.0, init=False)
    _validation_waited_s: float = field(default=0.0, init=False)
    """Seconds for which the last validation waited for the rollouts of the next iteration, part of whose time they are.
    """
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "trainer"), init=False)
    """All work with the learners runs in this one thread: the number of threads with which PyTorch sums, and so the
    last bits of a sum, belongs to the thread that calls it."""

    def __post_init__(self) -> None:
        self._checkpoints = Checkpoints(self.state_dir)
        self._validations = PhaseValidations(
            self.learners, self.phase, self.state_dir, self.validation, self.report_validation
        )

    @property
    def limits_of_warnings(self) -> str | None:
        """Which falls no warning can name, because there are too few validation tasks; None if there are enough."""
        return self._validations.limits

    async def run(self) -> TrainedPhase:
        """Run the phase, or the rest of it after a crash.

        After `rl.idle_iterations` in a row without an effective group the phase ends early, unless the policy masters
        its tasks. It also ends when the audited precision of the judge that rewards falls below
        `judge.trust.min_precision`. A run that goes on after that trains no further iteration.

        Raises:
            NothingLearnableError: that happened before anything was learned at all, or every trajectory was masked.
            Diverged: a gradient is not finite.
            TrainerMismatch: the trainer does not see what the policy saw.
            RuleError: the evaluator of a task cannot be used; raised before any episode.
        """
        require_rules([*self.rollouts.tasks, *(self.validation.tasks if self.validation else [])])
        learner = self.learners.local
        state = await self._compute(self._restored)
        if state.figures:
            await asyncio.to_thread(self.report, state.figures[-1], [], [])
        queue = RolloutQueue(learner, self.phase, self.name, self.rollouts, self.state_dir, self._say)
        queue.lineage = len(state.rollbacks)
        every = learner.params.rl.checkpoints.every
        try:
            await self._resume(state, queue)
            state = await self._watched(state, queue)
            while state.iteration < self.phase.iterations and not state.ended:
                number, began = state.iteration + 1, time.monotonic()
                retrained = await self._compute(self._retrained_judge, number)
                rollouts = await queue.next(number, state.sampler)
                if learner.params.rl.max_staleness:
                    await queue.start(number + learner.params.rl.max_staleness, rollouts.sampler.state)
                began, self._validation_waited_s = began - self._validation_waited_s, 0.0
                waited_s = time.monotonic() - began
                ended: str | None = None
                if not rollouts.sampled.effective:
                    idle = learner.params.rl.idle_iterations
                    ended = ended_by_idleness(rollouts.sampled, state.figures, not self._learned_before, idle)
                audited = audit_figures(rollouts.verdicts, rollouts.audited) | retrained
                judge = self.rollouts.retrained
                if judge is not None:
                    await asyncio.to_thread(judge.keep, number, rollouts.judged[0], rollouts.audited)
                if judge is None or not judge.is_due_after(number):
                    ended = ended or self._distrust([*state.figures, audited])
                queue.settle(number, rollouts)
                kl = await self._compute(self._validations.divergence, number, rollouts, ended is not None)
                try:
                    figures = await self._update(number, rollouts, began, waited_s) | kl_figure(kl) | retrained
                except TrainerMismatch as error:
                    raise TrainerMismatch(
                        f"{error}. After correcting a server, delete {self.state_dir}/episodes-*, whose "
                        "log-probabilities it gave, and run again: the phase goes on from its checkpoint"
                    ) from error
                tallies = self._tallied(state, rollouts, kl) if self.validation else {}
                sampler = rollouts.sampler.state
                state = RLState(number, sampler, [*state.figures, figures], tallies, state.rollbacks, ended)
                is_last = ended is not None or number == self.phase.iterations
                if is_last or number % every == 0 or self._validations.is_due(number):
                    await self._compute(self._save, state)
                await asyncio.to_thread(self.report, figures, *rollouts.judged)
                self.progress(number, self.phase.iterations, f"iteration {number}: reward {figures['pool_reward']:.3f}")
                state = await self._watched(state, queue)
            return await self._compute(self._trained, state)
        finally:
            await queue.cancel()
            self._thread.shutdown()

    def _tallied(self, state: RLState, rollouts: IterationRollouts, kl: dict[str, tuple[float, int]]) -> Tallies:
        return tallied(state.tallies, rollouts.sampled, kl, successes(rollouts.audited))

    def _retrained_judge(self, number: int) -> dict[str, float]:
        """Train the judge that rewards again, if that is due before an iteration; figures of the iteration."""
        judge = self.rollouts.retrained

        def report(step: int, steps: int, loss: float) -> None:
            self._say(number, 0, f"judge: step {step}/{steps}")

        figures = {} if judge is None else judge.prepare(number, report)
        if figures:
            self._say(number, 0, f"the judge has learned from {figures['judge_retrained_on']:.0f} audited rollouts")
        return figures

    def _distrust(self, figures: list[dict[str, float]]) -> str | None:
        return ended_by_imprecision(figures, self.learners.local.params.judge.trust.min_precision)

    async def _compute(self, function: Callable[..., T], *arguments: object) -> T:
        """The result of a call in the thread of the learners; the event loop goes on meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    @property
    def _learned_before(self) -> bool:
        """Whether an earlier phase had an effective group."""
        return self.earlier is not None and self.earlier.effective > 0

    async def _resume(self, state: RLState, queue: RolloutQueue) -> None:
        """Begin the rollouts that do not wait for the next update, unless the phase has ended."""
        if not state.ended:
            await queue.resume(state.iteration, state.sampler)

    def _restored(self) -> RLState:
        """The state of the newest checkpoint, or that of the beginning."""
        newest = self._checkpoints.newest
        saved = None if newest is None else self.learners.run(Learner.load, newest)
        if saved is None:
            return RLState(0, self.earlier or SamplerState(), [])
        tallies = {family: FamilyTally(**tally) for family, tally in saved["tallies"].items()}
        rollbacks = [Rollback(**rollback) for rollback in saved["rollbacks"]]
        sampler, ended = SamplerState.of(saved["sampler"]), saved.get("ended")  # older checkpoints do not have it
        return RLState(saved["iteration"], sampler, saved["figures"], tallies, rollbacks, ended)

    def _save(self, state: RLState) -> None:
        """Write a checkpoint, and delete what is before it: journals of its iterations, older checkpoints."""
        saved = asdict(state)
        self._checkpoints.write(state.iteration, lambda path: self.learners.run(Learner.save, path, saved))
        for path in self.state_dir.glob("episodes-*"):
            if int(path.name.removeprefix("episodes-").partition(".")[0]) <= state.iteration:
                path.unlink()
        self._prune(state)

    def _prune(self, state: RLState) -> None:
        params, checkpoints = self.learners.local.params.rl.checkpoints, self._checkpoints
        top = best(self._validations.records(state.iteration), checkpoints.iterations, state.rollbacks)
        is_needed = top is not None and (params.best or params.rollback is not None)
        checkpoints.prune(params.keep, [top.iteration] if top is not None and is_needed else [])

    async def _watched(self, state: RLState, queue: RolloutQueue) -> RLState:
        """Validate the policy if that is due, and go back to an earlier one if the recipe says so."""
        validations, checkpoints, params = self._validations, self._checkpoints, self.learners.local.params
        if not validations.is_due(state.iteration, is_last=state.ended is not None):
            return state
        if not checkpoints.iterations:
            await self._compute(self._save, state)  # the policy with which the phase began may be the best
        self._validation_waited_s = await validations.validate(state.iteration, state.tallies, queue)
        records = validations.records(state.iteration)
        rules = state.rollbacks, params.rl.checkpoints, validations.planned
        if restore := policy_to_restore(records, checkpoints.iterations, *rules):
            top, comparison = restore
            await queue.cancel()
            await asyncio.to_thread(checkpoints.roll_back, top.iteration, by_hand=False)
            state = await self._compute(self._restored)
            queue.lineage = len(state.rollbacks)
            await asyncio.to_thread(self.report_rollback, state.rollbacks[-1], comparison)
            await self._resume(state, queue)
        await asyncio.to_thread(self._prune, state)
        return replace(state, tallies={})

    def _trained(self, state: RLState) -> TrainedPhase:
        """Restore the policy that is published, and gather the results."""
        records, params = self._validations.records(state.iteration), self.learners.local.params
        available = self._checkpoints.iterations
        rules = state.rollbacks, params.rl.checkpoints, params.seed
        distrusted = self._distrust(state.figures) is not None
        choice = choose(state.iteration, records, available, *rules, distrusted=distrusted)
        if choice.iteration != state.iteration:
            self.learners.run(Learner.load, self._checkpoints.path(choice.iteration))
        table = self._checkpoints.table()
        return TrainedPhase(state.figures, state.sampler, choice, state.ended, records, state.rollbacks, table)

    async def _update(
        self, number: int, rollouts: IterationRollouts, began: float, waited_s: float
    ) -> dict[str, float]:
        """Update the learners, unless no group is effective; the iteration's figures, rounded to 8 digits.

        Args:
            began: when the iteration began, on the monotonic clock.
            waited_s: how long it waited for the rollouts.
        """
        learner, sampled = self.learners.local, rollouts.sampled
        groups = learner.objective.training_groups(sampled)
        if sampled.effective:
            stats = await self._compute(self._update_learners, groups, number)
        else:
            learner.remember(None)
            stats = NO_UPDATE
        selection = learner.objective.selection(groups)
        figures = {
            "iteration": float(number),
            **rollout_figures(sampled, rollouts.sampler),
            **(branch_figures(sampled) if learner.params.rl.branches is not None else {}),
            **learner.objective.figures(groups),
            **({} if selection is None else selection.figures()),
            **audit_figures(rollouts.verdicts, rollouts.audited),
            "rollout_s": rollouts.wall_s - rollouts.clock.judge_s,
            "judge_s": rollouts.clock.judge_s,
            "weights_s": rollouts.weights_s,
            "waited_s": waited_s,
            "iteration_s": time.monotonic() - began,
            **rollouts.times,
            **stats.figures(),
        }
        # A number of numpy, which an objective may return, would make the checkpoint unreadable.
        return {name: round(float(value), 8) for name, value in figures.items()}

    def _update_learners(self, groups: list[Group], number: int) -> UpdateStats:
        def progress(done: int, total: int) -> None:
            self._say(number, 0.5 + done / total / 2, f"step {done}/{total}")

        self.learners.local.progress = progress
        return self.learners.run(Learner.update, groups, number)

    def _say(self, number: int, share: float, message: str) -> None:
        """Report progress within an iteration. Its share falls when more groups begin, the progress does not."""
        self._furthest = max(self._furthest, number - 1 + share)
        self.progress(self._furthest, self.phase.iterations, f"iteration {number}: {message}")


def ended_by_idleness(
    sampled: SampledGroups, figures: list[dict[str, float]], is_first_phase: bool, limit: int
) -> str | None:
    """Why the phase ends after an iteration without an effective group; None if it continues.

    Such an iteration changes nothing, and the next one samples other tasks, so a few are tolerated.

    Args:
        figures: of the iterations before this one.
        is_first_phase: no phase came before, so nothing may have been learned yet.
        limit: such iterations in a row, this one included, that end the phase (`rl.idle_iterations`). Those before the
            phase went back to an earlier policy do not count.

    Raises:
        NothingLearnableError: every trajectory is masked, or nothing was learned before, or the phase would end and
            most of this iteration is masked: it goes on when the environment and the judge work again.
    """
    was_idle = [iteration["effective_groups"] == 0 for iteration in figures]
    idle_since = [iteration["effective_groups"] == 0 for iteration in since_rollback(figures)]
    in_a_row = 1 + sum(1 for _ in takewhile(bool, reversed(idle_since)))
    stuck = in_a_row >= limit and not sampled.mastered
    if sampled.masked_share == 1 or (stuck and (sampled.mostly_masked or (is_first_phase and all(was_idle)))):
        raise NothingLearnableError(sampled.why_none_is_effective())
    return sampled.why_none_is_effective() if stuck else None
