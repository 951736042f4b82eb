"""Many episodes at once, each finished one in the journal before the next step is taken.

Steps: leave out what the journal already holds; run the rest side by side, as many as the pool has slots; append each
trajectory as it ends. An episode whose browser died is run again, at most `SANDBOX_RETRIES` times, and then recorded as
`sandbox_error`: an infrastructure failure is never a reward of 0, nor a lost task.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from components.agent import EpisodeSpec, Policy, Renderer, run_episode
from components.browser import BrowserPool, SandboxError, Session
from components.params import AgentParams, SamplingParams
from components.records import Task, Termination, Trajectory
from components.store import Journal

SANDBOX_RETRIES = 2

PolicyFor = Callable[[EpisodeSpec, Session], Policy]
"""Gives the policy of one episode. Only a scripted teacher looks at the session."""


@dataclass(frozen=True)
class RolloutLimits:
    """What bounds an episode."""

    max_steps: int
    max_response_tokens: int


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
    pool: BrowserPool,
    policy_for: PolicyFor,
    renderer: Renderer,
    agent: AgentParams,
    sampling: SamplingParams,
    limits: RolloutLimits,
    journal: Journal[Trajectory],
    progress: Callable[[int, int], None] | None = None,
) -> list[Trajectory]:
    """Run the episodes that the journal does not hold yet; return all of them in the order asked.

    Raises:
        whatever the policy raises: a model that cannot answer is no fault of an episode.
    """
    done = {trajectory.trajectory_id: trajectory for trajectory in journal.records}
    missing = [spec for spec in episodes if spec.trajectory_id not in done]
    finished = len(episodes) - len(missing)
    if progress:
        progress(finished, len(episodes))

    async def run(spec: EpisodeSpec) -> None:
        nonlocal finished
        trajectory = await _with_retries(spec, pool, policy_for, renderer, agent, sampling, limits)
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
    pool: BrowserPool,
    policy_for: PolicyFor,
    renderer: Renderer,
    agent: AgentParams,
    sampling: SamplingParams,
    limits: RolloutLimits,
) -> Trajectory:
    problem = ""
    for _ in range(SANDBOX_RETRIES + 1):
        try:
            async with pool.session() as session:
                return await run_episode(
                    spec,
                    session,
                    policy_for(spec, session),
                    renderer,
                    agent,
                    sampling,
                    limits.max_steps,
                    limits.max_response_tokens,
                )
        except SandboxError as error:
            problem = str(error)
    return Trajectory(
        trajectory_id=spec.trajectory_id,
        task=spec.task,
        attempt=spec.attempt,
        policy=spec.policy_version,
        protocol=agent.protocol,
        seed=spec.seed,
        turns=[],
        termination=Termination.SANDBOX_ERROR,
        diagnostics={"error": problem, "retries": SANDBOX_RETRIES},
    )
