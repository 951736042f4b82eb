"""Runs many episodes at once and appends each to the journal as it ends.

Episodes that the journal already holds are skipped. The others run in parallel, as many as the pool has slots. An
episode whose browser died runs again at once, and one that got none after a pause, at most `SANDBOX_RETRIES` times. It
is then recorded as `sandbox_error`:
infrastructure failures are masked and never scored as 0. A bug of the harness ends one episode, as `harness_error`; the
run stops only above `max_harness_errors`. A request that the policy's endpoint refuses ends one episode, as
`request_refused`. The next run repeats the episodes that the environment ended,
because the cause may be fixed by then, after those that never ran; the last record of an episode counts. It repeats
none that the journal has as final (`journal.mark_final`): a model was trained on them. On public sites, `pacing`
decides when an episode may start, or that it may not.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from components.agent import EpisodeSettings, EpisodeSpec, Policy, run_episode, trajectory_of
from components.browser import Environment, Environments, SandboxError
from components.journal import Journal
from components.lazy_records import Selection
from components.records import Task, Termination, Trajectory
from components.rollout.endings import HarnessErrorLimit
from components.rollout.pacing import EpisodeNotStartedError, OpenSession

SANDBOX_RETRIES = 5
FIRST_PAUSE_S = 1.0
"""Before an episode is tried again for which no browser could be had; each later pause is twice as long."""

PolicyFor = Callable[[EpisodeSpec, Environment], Policy]
"""Makes the policy of one episode. Only a scripted teacher uses the session."""


def without_run(policy_version: str) -> str:
    """The version up to its last colon. Behind it a stage names its run, by a digest of its inputs, and tables have
    times in them: what depends on the whole version differs between two runs of one recipe."""
    name, colon, _ = policy_version.rpartition(":")
    return name if colon else policy_version


def episode_seed(run_seed: int, task_id: str, attempt: int, policy_version: str) -> int:
    """The seed of an episode: 31 bits, equal for equal arguments, and in every run of one recipe."""
    text = f"{run_seed}:{task_id}:{attempt}:{without_run(policy_version)}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def episode_specs(
    tasks: Iterable[Task], attempts: int | range, policy_version: str, run_seed: int
) -> list[EpisodeSpec]:
    """The episodes of some tasks; the attempts at one task are neighbours in the list.

    Args:
        attempts: the number of attempts per task, or the numbers of these attempts.
    """
    numbers = range(attempts) if isinstance(attempts, int) else attempts
    return [
        EpisodeSpec(task, attempt, policy_version, episode_seed(run_seed, task.task_id, attempt, policy_version))
        for task in tasks
        for attempt in numbers
    ]


@dataclass(frozen=True)
class CollectOptions:
    """How `collect` starts episodes, what it tolerates, and whom it tells of those that ended.

    Attributes:
        progress: called with the number of finished episodes and of all.
        open_session: opens an episode's browser, instead of the pool. An episode for which it raises
            `EpisodeNotStartedError` is missing in the result.
        max_harness_errors: share of the episodes that bugs of the harness may end, or a limit that several calls share.
        on_end: called with each trajectory once it is in the journal; not with those that were there before.
    """

    progress: Callable[[int, int], None] | None = None
    open_session: OpenSession | None = None
    max_harness_errors: float | HarnessErrorLimit = 1.0
    on_end: Callable[[Trajectory], None] | None = None


ANY_ENDING = CollectOptions()
"""Options of a run that tolerates all endings and reports none."""


async def collect(
    episodes: list[EpisodeSpec],
    pool: Environments,
    policy_for: PolicyFor,
    settings: EpisodeSettings,
    journal: Journal[Trajectory],
    options: CollectOptions = ANY_ENDING,
) -> Sequence[Trajectory]:
    """Run the episodes that the journal does not hold yet. Returns all trajectories, in the order of `episodes`.

    If the journal does not keep its records in memory, the result reads a trajectory when it is accessed.

    Raises:
        TooManyHarnessErrors: they ended more. The finished episodes are in the journal.
        ChromiumNotFoundError: there is no browser that could be run.
        Exception: any error of the policy but a refused request and what a scripted teacher raises, unchanged, because
            it is no fault of an episode.
    """
    places: dict[str, int] = {}
    final, done = set[str](), set[str]()
    for place, trajectory in enumerate(journal.records):
        name = trajectory.trajectory_id
        places[name] = place
        (done.add if _is_done(trajectory) else done.discard)(name)
        if place < journal.final:
            final.add(name)
    done |= final
    missing = [spec for spec in episodes if spec.trajectory_id not in done]
    missing.sort(key=lambda spec: spec.trajectory_id in places)
    finished = len(episodes) - len(missing)
    limit = options.max_harness_errors
    if not isinstance(limit, HarnessErrorLimit):
        limit = HarnessErrorLimit(limit)
    limit.expect(len(episodes))
    opener = options.open_session or (lambda spec: pool.session(spec.task))
    if options.progress:
        options.progress(finished, len(episodes))

    async def run(spec: EpisodeSpec) -> None:
        nonlocal finished
        try:
            trajectory = await _with_retries(spec, opener, policy_for, settings)
        except EpisodeNotStartedError:
            return
        places[spec.trajectory_id] = len(journal.records)
        journal.append(trajectory)
        if options.on_end:
            options.on_end(trajectory)
        limit.count(trajectory)
        finished += 1
        if options.progress:
            options.progress(finished, len(episodes))

    failure: Exception | None = None
    try:
        async with asyncio.TaskGroup() as group:
            for spec in missing:
                group.create_task(run(spec))
    except ExceptionGroup as errors:  # the first error cancelled the other episodes
        failure = errors.exceptions[0]
    if failure is not None:
        raise failure  # in the `except` it would lose its context, and with `from None` its cause
    return Selection(journal.records, [places[s.trajectory_id] for s in episodes if s.trajectory_id in places])


def _is_done(trajectory: Trajectory) -> bool:
    """Whether an episode need not run again: the agent ended it, or it is a branch that cannot begin."""
    is_dropped = trajectory.branch_of is not None and trajectory.branch_of.difference is not None
    return trajectory.termination.is_agents_doing or is_dropped


async def _with_retries(
    spec: EpisodeSpec,
    open_session: OpenSession,
    policy_for: PolicyFor,
    settings: EpisodeSettings,
) -> Trajectory:
    problem = ""
    for number in range(SANDBOX_RETRIES + 1):
        has_begun = False
        try:
            async with open_session(spec) as session:
                has_begun = True
                return await run_episode(spec, session, policy_for(spec, session), settings)
        except SandboxError as error:
            problem = str(error)
        if not has_begun and number < SANDBOX_RETRIES:  # a slot that fails at once would take all tries of all episodes
            await asyncio.sleep(FIRST_PAUSE_S * 2**number)
    diagnostics = {"error": problem, "retries": SANDBOX_RETRIES}
    return trajectory_of(spec, settings.agent.protocol, Termination.SANDBOX_ERROR, diagnostics)
