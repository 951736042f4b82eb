"""Rollouts of a stage: trajectories from tasks and a policy, journalled in the stage's state directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass

from components.agent import EpisodeSettings, EpisodeSpec, Policy, Renderer
from components.browser import Environments, open_browsers
from components.journal import Journal
from components.judge import probes_of, require_rules
from components.params import AgentParams, Params, SamplingParams
from components.pipeline.stage_run import StageRun
from components.records import Trajectory
from components.rollout import CollectOptions, PolicyFor, collect, paced_sessions, require_agents_endings
from components.worlds import worlds_of


def open_pool(params: Params) -> Environments:
    """The browsers of a stage, here or on a Ray cluster, with the pages of the recipe's worlds served on loopback."""
    sites = worlds_of(params).sites()
    if params.rollout.executor == "ray":
        from components.rollout.ray_pool import RayPool  # Ray takes a second to import

        return RayPool(params.browser, params.rollout, sites, params.observation.text)
    return open_browsers(params.browser, sites, params.observation.text)


@dataclass(frozen=True)
class EpisodeLimits:
    """How the answers of an episode are sampled, and where it ends.

    Attributes:
        agent: the limits of its prompts and answers; None for those of the recipe's training.
    """

    sampling: SamplingParams
    max_steps: int
    agent: AgentParams | None = None


async def roll_out(
    run: StageRun,
    episodes: list[EpisodeSpec],
    policy: AbstractAsyncContextManager[Policy] | PolicyFor,
    limits: EpisodeLimits,
    in_memory: bool = True,
) -> Sequence[Trajectory]:
    """Run episodes, all with one policy, which is opened for them, or each with the policy that a function returns.

    Args:
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
    agent, worlds = limits.agent or params.agent, worlds_of(params)
    tasks = {spec.task.task_id: spec.task for spec in episodes}
    worlds.require(tasks.values())
    attempts = max(Counter(spec.task.task_id for spec in episodes).values(), default=0)
    if attempts > 1:
        worlds.require_independent(tasks.values(), f"{attempts} attempts at each")
    require_rules(tasks.values())

    with Journal(run.state / "episodes.jsonl", Trajectory, in_memory) as journal:
        async with AsyncExitStack() as stack:
            policy_for = policy if callable(policy) else _always(await stack.enter_async_context(policy))
            pool = await stack.enter_async_context(open_pool(params))
            trajectories = await collect(
                episodes,
                pool,
                policy_for,
                EpisodeSettings(
                    Renderer(params.agent, params.observation, params.model.think_prefix),
                    agent,
                    limits.sampling,
                    limits.max_steps,
                    agent.max_response_tokens,
                    probes_of,
                ),
                journal,
                CollectOptions(
                    progress=lambda done, total: run.progress(done, total, "episodes"),
                    open_session=paced_sessions(pool, params.rollout),
                    max_harness_errors=params.rollout.max_harness_errors,
                ),
            )
    require_agents_endings(trajectories)
    return trajectories


def _always(policy: Policy) -> PolicyFor:
    return lambda spec, session: policy
