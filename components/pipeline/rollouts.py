"""Rollouts of a stage: trajectories from tasks and a policy, journalled in the stage's state directory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

from components.agent import EpisodeSettings, EpisodeSpec, Policy, Renderer
from components.browser import Environment, Environments, open_browsers
from components.journal import Journal
from components.judge import probes_of, require_rules
from components.params import AgentParams, Params, SamplingParams
from components.pipeline.stage_run import StageRun
from components.records import Task, Trajectory
from components.rollout import PolicyFor, collect, episode_specs, paced_sessions, require_agents_endings
from components.worlds import worlds_of


def open_pool(params: Params) -> Environments:
    """The browsers of a stage, here or on a Ray cluster, with the pages of the recipe's worlds served on loopback."""
    sites = worlds_of(params).sites()
    if params.rollout.executor == "ray":
        from components.rollout.ray_pool import RayPool  # Ray takes a second to import

        return RayPool(params.browser, params.rollout, sites, params.observation.text)
    return open_browsers(params.browser, sites, params.observation.text)


async def roll_out(
    run: StageRun,
    tasks: list[Task],
    attempts: int,
    policy: AbstractAsyncContextManager[Policy] | None,
    version: str,
    sampling: SamplingParams,
    max_steps: int,
    agent: AgentParams | None = None,
    policy_for: PolicyFor | None = None,
    in_memory: bool = True,
) -> Sequence[Trajectory]:
    """Run `attempts` episodes per task, all with `policy`, or each with the policy that `policy_for` returns.

    Args:
        agent: the limits of the episodes; None for those of the recipe's training.
        in_memory: whether the trajectories stay in memory. If not, each is read from the stage's state when it is
            accessed.

    Raises:
        ValueError: a task is on a world that the recipe does not have; raised before any episode.
        WorldError: there are several attempts, and an episode on a task's world finds what another one changed; raised
            before any episode.
        RuleError: the evaluator of a task cannot be used; raised before any episode.
        AllEndedByEnvironment: no episode was ended by the agent.
        TooManyHarnessErrors: bugs of the harness ended more episodes than the recipe allows.
    """
    params = run.params
    agent, worlds = agent or params.agent, worlds_of(params)
    worlds.require(tasks)
    if attempts > 1:
        worlds.require_independent(tasks, f"{attempts} attempts at each")
    require_rules(tasks)

    with Journal(run.state / "episodes.jsonl", Trajectory, in_memory) as journal:
        async with policy or nullcontext() as same, open_pool(params) as pool:

            def same_policy(spec: EpisodeSpec, session: Environment) -> Policy:
                assert same is not None
                return same

            trajectories = await collect(
                episode_specs(tasks, attempts, version, params.seed),
                pool,
                policy_for or same_policy,
                EpisodeSettings(
                    Renderer(params.agent, params.observation, params.model.think_prefix),
                    agent,
                    sampling,
                    max_steps,
                    agent.max_response_tokens,
                    probes_of,
                ),
                journal,
                lambda done, total: run.progress(done, total, "episodes"),
                paced_sessions(pool, params.rollout),
                params.rollout.max_harness_errors,
            )
    require_agents_endings(trajectories)
    return trajectories
