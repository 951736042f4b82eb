"""Many episodes at once, each finished one in the journal before the next step is taken.

Steps: leave out what the journal already holds; run the rest side by side, as many as the pool has slots; append each
trajectory as it ends. An episode whose browser died is run again, at most `SANDBOX_RETRIES` times, and then recorded as
`sandbox_error`: an infrastructure failure is never a reward of 0, nor a lost task. Episodes that the environment ended
are tried again by the next run, since its cause may be mended by then; the journal's last word on an episode counts.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable

from components.agent import EpisodeSettings, EpisodeSpec, Policy, run_episode, trajectory_of
from components.browser import Environment, Environments, SandboxError
from components.records import Task, Termination, Trajectory
from components.store import Journal

SANDBOX_RETRIES = 5

PolicyFor = Callable[[EpisodeSpec, Environment], Policy]
"""Gives the policy of one episode. Only a scripted teacher looks at the session."""


def episode_seed(run_seed: int, task_id: str, attempt: int, policy_version: str) -> int:
    """The seed of an episode: 31 bits, the same for the same work."""
    text = f"{run_seed}:{task_id}:{attempt}:{policy_version}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def specs(tasks: Iterable[Task], attempts: int, policy_version: str, run_seed: int) -> list[EpisodeSpec]:
    """`attempts` episodes per task, attempts of a task side by side."""
    return [
        EpisodeSpec(task, attempt, policy_version, episode_seed(run_seed, task.task_id, attempt, policy_version))
        for task in tasks
        for attempt in range(attempts)
    ]


async def collect(
    episodes: list[EpisodeSpec],
    pool: Environments,
    policy_for: PolicyFor,
    settings: EpisodeSettings,
    journal: Journal[Trajectory],
    progress: Callable[[int, int], None] | None = None,
) -> list[Trajectory]:
    """Run the episodes that the journal does not hold yet; return all of them in the order asked.

    Raises:
        whatever the policy raises: a model that cannot answer is no fault of an episode.
    """
    done = {t.trajectory_id: t for t in journal.records if t.termination.is_agents_doing}
    missing = [spec for spec in episodes if spec.trajectory_id not in done]
    finished = len(episodes) - len(missing)
    if progress:
        progress(finished, len(episodes))

    async def run(spec: EpisodeSpec) -> None:
        nonlocal finished
        trajectory = await _with_retries(spec, pool, policy_for, settings)
        journal.append(trajectory)
        done[spec.trajectory_id] = trajectory
        finished += 1
        if progress:
            progress(finished, len(episodes))

    async with asyncio.TaskGroup() as group:
        for spec in missing:
            group.create_task(run(spec))
    return [done[spec.trajectory_id] for spec in episodes]


async def _with_retries(
    spec: EpisodeSpec,
    pool: Environments,
    policy_for: PolicyFor,
    settings: EpisodeSettings,
) -> Trajectory:
    problem = ""
    for _ in range(SANDBOX_RETRIES + 1):
        try:
            async with pool.session() as session:
                return await run_episode(spec, session, policy_for(spec, session), settings)
        except SandboxError as error:
            problem = str(error)
    diagnostics = {"error": problem, "retries": SANDBOX_RETRIES}
    return trajectory_of(spec, settings.agent.protocol, Termination.SANDBOX_ERROR, diagnostics)
