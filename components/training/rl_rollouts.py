"""The rollouts of RL: which tasks, with which weights, and how they are rewarded.

Once an iteration's groups are sampled, branches begin at turns of the effective ones (`rl.branches`): the others give
no gradient, and rollouts of their branches would only cost time.

With `rl.max_staleness` above 0 iterations roll out while earlier iterations update: iteration n has the weights of
max(0, n - 1 - `rl.max_staleness`) updates. The staleness is the same in every run, and so is the order of all draws.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from components.agent import EpisodeSettings, EpisodeSpec, Policy, Renderer
from components.browser import Environments
from components.journal import Journal, mark_final
from components.judge import JudgeFn, probes_of, reward
from components.params import RLPhase, SamplingParams
from components.policies import OpenPolicy
from components.records import Reward, Task, Trajectory, Verdict
from components.rollout import (
    Branches,
    CollectOptions,
    Group,
    HarnessErrorLimit,
    SampledGroups,
    SamplerState,
    TaskSampler,
    branch_specs,
    choose_turns,
    collect,
    episode_specs,
    paced_sessions,
    sample_groups,
    stream_groups,
)
from components.training.episode_times import episode_times
from components.training.judge_retraining import RetrainedJudge
from components.training.judging import EpisodeJudging, Judged, RolloutClock
from components.training.learner import Learner
from components.training.validation import Validation


@dataclass(frozen=True)
class RolloutSetup:
    """Where trajectories and rewards come from."""

    tasks: list[Task]
    pool: Environments
    open_policy: OpenPolicy
    """Takes the learner's weights as they are when it is called, and gives the policy that rolls out."""
    judge: JudgeFn
    audit: JudgeFn | None = None
    """Judges what `judge` judges, or a sample of it, to measure how often the two agree. It does not reward."""
    judges_batches: bool = False
    """Whether `judge` gets the trajectories of a wave together, as a model in this process wants them; else it gets
    each one when its episode ends."""
    retrained: RetrainedJudge | None = None
    """`judge`, if it is trained again during the phase; it needs `audit`."""


@dataclass(frozen=True)
class ValidationSetup:
    """What RL validates with."""

    tasks: list[Task]
    """Of the splits `validation` and `heldout_validation`."""
    judge: JudgeFn
    """The judge of the evaluation, which need not be the one that rewards."""
    sft: Path
    """The directory of the SFT policy, to which the KL is measured."""
    earlier: Validation | None = None
    """The validation of the policy with which the phase begins, made in the phase before."""


@dataclass
class IterationRollouts:
    """The groups of one iteration with their verdicts, and how long they took. The sampler is the iteration's own."""

    sampler: TaskSampler
    harness_errors: HarnessErrorLimit
    sampled: SampledGroups = field(default_factory=lambda: SampledGroups([]))
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """By trajectory id."""
    audited: list[Verdict] = field(default_factory=list)
    settled: Judged | None = None
    """The verdicts from which an earlier try has learned; None if it has not."""
    clock: RolloutClock = field(default_factory=RolloutClock)
    wall_s: float = 0.0
    weights_s: float = 0.0
    """Seconds until the policy had its weights: copying or writing them, and entering the policy."""
    times: dict[str, float] = field(default_factory=dict)
    """`episode_times` of the episodes that ended in this process, not of those that a killed one left."""
    begun: int = 0
    """Episodes of the groups that began."""
    ended: int = 0
    """Of these, the episodes that ended."""

    @property
    def judged(self) -> tuple[list[Trajectory], list[Verdict]]:
        """The trajectories that were judged, branches included, in the order of the groups, and their verdicts."""
        trajectories = [t for group in self.sampled.groups for t in group.episodes]
        judged = [trajectory for trajectory in trajectories if trajectory.trajectory_id in self.verdicts]
        return judged, [self.verdicts[trajectory.trajectory_id] for trajectory in judged]


@dataclass
class RolloutQueue:
    """The rollouts of one phase that are under way, by iteration; one begins when the one before it has ended."""

    learner: Learner
    phase: RLPhase
    name: str
    """Names the phase in the policies' versions."""
    setup: RolloutSetup
    state_dir: Path
    report: Callable[[int, float, str], None]
    """Gets an iteration, the share of it that is done (rollouts are its first half), and a line."""
    lineage: int = 0
    """How often the phase went back to an earlier policy. It is in the policies' versions, so that later draws differ
    from those before, and in no version while it is 0."""
    _running: deque[asyncio.Task[IterationRollouts]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        params = self.learner.params
        self._params = params
        self._renderer = Renderer(params.agent, params.observation, params.model.think_prefix)
        self._seats = paced_sessions(self.setup.pool, params.rollout)

    def journal_path(self, number: int) -> Path:
        """The journal of an iteration's finished episodes."""
        return self.state_dir / f"episodes-{number:04d}.jsonl"

    def verdicts_path(self, number: int) -> Path:
        """The verdicts of an iteration that was learned from."""
        return self.state_dir / f"episodes-{number:04d}.verdicts.json"

    def validation_path(self, iteration: int) -> Path:
        """The journal of the finished episodes of the validation after an iteration."""
        return self.state_dir / f"validation-{iteration:04d}.jsonl"

    async def resume(self, iteration: int, sampler: SamplerState) -> None:
        """After `iteration` finished iterations, begin those rollouts that do not wait for the next update, each with
        the weights that it must have."""
        staleness = self._params.rl.max_staleness
        for number in range(iteration + 1, iteration + 1 + staleness):
            with self.learner.at_earlier_update(iteration - self._updates(number)):
                await self.start(number, sampler)

    async def start(self, number: int, before: SamplerState) -> None:
        """Begin an iteration's rollouts with the model as it is now, once those under way have ended.

        The sampler continues from the rollouts under way, or from `before` if there are none. An iteration beyond the
        end of the phase is not begun.
        """
        if number > self.phase.iterations:
            return
        previous = self._running[-1] if self._running else None
        start = time.monotonic()
        opened = await self.setup.open_policy(self._version(number))
        opening_s = time.monotonic() - start

        async def roll_out() -> IterationRollouts:
            state = before if previous is None else (await previous).sampler.state
            limit = HarnessErrorLimit(self._params.rollout.max_harness_errors)
            rollouts = IterationRollouts(self._sampler(copy.deepcopy(state)), limit)
            entry = time.monotonic()
            async with opened as policy:
                began = time.monotonic()
                rollouts.weights_s = opening_s + began - entry
                with Journal(self.journal_path(number), Trajectory) as journal:
                    known = len(journal.records)
                    if journal.final and self.verdicts_path(number).exists():  # earlier versions kept none
                        rollouts.settled = Judged.read(self.verdicts_path(number))
                    rollouts.sampled = await self._sample(number, policy, journal, rollouts)
                    rollouts.sampled = await self._with_branches(number, policy, journal, rollouts)
                    rollouts.times = episode_times(journal.records, known)
            rollouts.wall_s = time.monotonic() - began
            return rollouts

        self._running.append(asyncio.create_task(roll_out()))

    async def next(self, number: int, before: SamplerState) -> IterationRollouts:
        """The rollouts of the next iteration, which begin now unless they are under way."""
        if not self._running:
            await self.start(number, before)
        return await self._running.popleft()

    def settle(self, number: int, rollouts: IterationRollouts) -> None:
        """Record that an iteration is learned from, so that a run that computes it again repeats none of its episodes
        and verdicts: the episodes of later iterations depend on what was learned from these."""
        Judged(rollouts.verdicts, rollouts.audited).write(self.verdicts_path(number))
        mark_final(self.journal_path(number))

    async def validate(self, iteration: int, tasks: list[Task]) -> list[Trajectory]:
        """One greedy episode per task with the model as it is now, once the rollouts under way have ended."""

        def progress(done: int, total: int) -> None:
            self.report(max(iteration, 1), float(iteration > 0), f"validation {done}/{total}")

        opened = await self.setup.open_policy(f"{self.name}@{iteration}{self._branch}=validation:{self.state_dir.name}")
        await self.finish_running()
        with Journal(self.validation_path(iteration), Trajectory) as journal:
            async with opened as policy:
                episodes = episode_specs(tasks, 1, policy.version, self._params.seed)
                options = CollectOptions(progress, self._seats, self._params.rollout.max_harness_errors)
                return await self._collect(episodes, policy, SamplingParams(temperature=0.0), journal, options)

    async def finish_running(self) -> float:
        """Wait until the rollouts under way have ended; returns the seconds."""
        began = time.monotonic()
        if self._running:
            await asyncio.wait([self._running[-1]])
        return time.monotonic() - began

    async def cancel(self) -> None:
        """End all rollouts under way. Their finished episodes stay in the journals."""
        for rollouts in self._running:
            rollouts.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()

    def _sampler(self, state: SamplerState) -> TaskSampler:
        return TaskSampler(self.setup.tasks, self._params.task_seed, self._params.rl.task_sampling, state)

    def _updates(self, number: int) -> int:
        """The number of updates after which the weights of an iteration's rollouts are taken."""
        return max(0, number - 1 - self._params.rl.max_staleness)

    def _version(self, number: int) -> str:
        """The name of an iteration's policy: its weights, how stale they are, and the state directory."""
        updates = self._updates(number)
        stale = f"+{number - 1 - updates}" if number - 1 > updates else ""
        return f"{self.name}@{updates}{stale}{self._branch}:{self.state_dir.name}"

    @property
    def _branch(self) -> str:
        return f"~{self.lineage}" if self.lineage else ""

    async def _sample(
        self, number: int, policy: Policy, journal: Journal[Trajectory], rollouts: IterationRollouts
    ) -> SampledGroups:
        """Sample the groups of an iteration, in waves or in a stream."""
        rl = self._params.rl
        limits = rl.effective_groups, min(rl.max_sampled_groups, len(self.setup.tasks))

        async def roll(tasks: list[Task]) -> list[Group]:
            return await self._roll_wave(number, tasks, policy, journal, rollouts)

        async def roll_group(task: Task) -> Group:
            return (await roll([task]))[0]

        if rl.open_groups is None:
            return await sample_groups(rollouts.sampler, roll, *limits)
        return await stream_groups(rollouts.sampler, roll_group, *limits, rl.open_groups)

    async def _roll_wave(
        self,
        number: int,
        wave: list[Task],
        policy: Policy,
        journal: Journal[Trajectory],
        rollouts: IterationRollouts,
    ) -> list[Group]:
        """Roll out a group for each task of a wave, and reward its members. Tasks without a success get more, which
        count in advantages and not in figures of reward and success."""
        rl = self._params.rl
        groups = await self._attempt(number, wave, range(rl.group_size), policy, journal, rollouts)
        failed = [group.task for group in groups if group.scored and max(group.scored) <= 0]
        if not rl.extra_attempts or not failed:
            return groups
        more = range(rl.group_size, rl.group_size + rl.extra_attempts)
        added = await self._attempt(number, failed, more, policy, journal, rollouts)
        by_task = {group.task.task_id: group for group in added}
        return [group.joined(by_task.get(group.task.task_id)) for group in groups]

    async def _with_branches(
        self, number: int, policy: Policy, journal: Journal[Trajectory], rollouts: IterationRollouts
    ) -> SampledGroups:
        """The iteration's groups, the effective ones with branches if the recipe wants them."""
        params, seed = self._params.rl.branches, self._params.sampling_seed
        if params is None or not rollouts.sampled.effective:
            return rollouts.sampled
        places = [choose_turns(group, params, seed) if group.is_effective else [] for group in rollouts.sampled.groups]
        specs = [
            branch_specs(group, chosen, params.continuations, seed)
            for group, chosen in zip(rollouts.sampled.groups, places, strict=True)
        ]
        episodes = [spec for of_group in specs for spec in of_group]

        def progress(done: int, total: int) -> None:
            self.report(number, done / max(total, 1) / 2, f"branch {done}/{total}")

        trajectories, verdicts = await self._judged(episodes, policy, journal, progress, rollouts)
        rest = iter(zip(trajectories, self._rewards(trajectories, verdicts), strict=True))
        groups = []
        for group, chosen in zip(rollouts.sampled.groups, places, strict=True):
            branches = []
            for member, turn in chosen:
                pairs = list(islice(rest, params.continuations))
                branches.append(Branches(member, turn, [t for t, _ in pairs], [reward for _, reward in pairs]))
            groups.append(replace(group, branches=tuple(branches)))
        return SampledGroups(groups)

    async def _attempt(
        self,
        number: int,
        wave: list[Task],
        attempts: range,
        policy: Policy,
        journal: Journal[Trajectory],
        rollouts: IterationRollouts,
    ) -> list[Group]:
        """Roll out these attempts at each task of a wave, and reward them."""
        episodes, reported = episode_specs(wave, attempts, policy.version, self._params.sampling_seed), 0
        rollouts.begun += len(episodes)

        def progress(done: int, total: int) -> None:
            nonlocal reported
            rollouts.ended, reported = rollouts.ended + done - reported, done
            ended, begun = rollouts.ended, rollouts.begun
            self.report(number, ended / begun / 2, f"episode {ended}/{begun}")

        trajectories, verdicts = await self._judged(episodes, policy, journal, progress, rollouts)
        size = len(attempts)
        members = [trajectories[begin : begin + size] for begin in range(0, len(trajectories), size)]
        return [self._group(task, group, verdicts) for task, group in zip(wave, members, strict=True)]

    async def _judged(
        self,
        episodes: list[EpisodeSpec],
        policy: Policy,
        journal: Journal[Trajectory],
        progress: Callable[[int, int], None],
        rollouts: IterationRollouts,
    ) -> tuple[list[Trajectory], dict[str, Verdict]]:
        """Run episodes, and judge them; their verdicts by trajectory id, which are added to the iteration's."""
        setup, sampling, limit = self.setup, self._params.rl.sampling, rollouts.harness_errors
        async with EpisodeJudging(setup.judge, setup.audit, rollouts.clock, rollouts.settled) as judging:
            on_end = None if setup.judges_batches else judging.begin
            with rollouts.clock.rolling():
                options = CollectOptions(progress, self._seats, limit, on_end)
                trajectories = await self._collect(episodes, policy, sampling, journal, options)
            judged = await judging.finish(trajectories)
        rollouts.verdicts |= judged.verdicts
        rollouts.audited += judged.audited
        return trajectories, judged.verdicts

    async def _collect(
        self,
        episodes: list[EpisodeSpec],
        policy: Policy,
        sampling: SamplingParams,
        journal: Journal[Trajectory],
        options: CollectOptions,
    ) -> list[Trajectory]:
        """Run episodes with the limits of the phase."""
        params = self._params
        limits = self.phase.max_steps, params.agent.max_response_tokens
        trajectories = await collect(
            episodes,
            self.setup.pool,
            lambda spec, session: policy,
            EpisodeSettings(self._renderer, params.agent, sampling, *limits, probes_of),
            journal,
            options,
        )
        return list(trajectories)

    def _group(self, task: Task, attempts: list[Trajectory], verdicts: Mapping[str, Verdict]) -> Group:
        return Group(task, attempts, self._rewards(attempts, verdicts), self.learner.objective.can_learn_from)

    def _rewards(self, trajectories: list[Trajectory], verdicts: Mapping[str, Verdict]) -> list[Reward]:
        rl = self._params.rl
        return [
            reward(trajectory, verdicts.get(trajectory.trajectory_id), rl.format_error, rl.action_cost)
            for trajectory in trajectories
        ]
