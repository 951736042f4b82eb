"""Runs many episodes at once: journal, retries, groups, dynamic sampling, pacing.

- `collect`: runs episodes in parallel and appends each to the journal as it ends. `endings` says why the environment
  ended episodes, and how many may end so.
- `sampling`: samples waves of groups until enough are effective (`sample_groups`), and chooses the tasks
  (`TaskSampler`). `groups` defines when a group is effective.
- `streaming`: samples groups one after the other, many of them under way (`stream_groups`).
- `branches`: at which turns of a group's episodes further ones begin, and these as episodes to run.
- `pacing`: for public sites. It limits the episodes at once and their rate per host, and the cost of a run.
- `ray_pool.RayPool`: a `browser.BrowserPool` on many machines. Import it directly; it imports Ray.
"""

from components.rollout.branches import branch_specs, choose_turns
from components.rollout.collect import CollectOptions, PolicyFor, collect, episode_seed, episode_specs, without_run
from components.rollout.endings import (
    AllEndedByEnvironment,
    HarnessErrorLimit,
    TooManyHarnessErrors,
    commonest_reason,
    harness_errors,
    require_agents_endings,
    termination_counts,
)
from components.rollout.groups import Branches, Group, NothingLearnableError, SampledGroups, rewards_differ
from components.rollout.pacing import Budget, EpisodeNotStartedError, PacedSessions, RunCost, paced_sessions
from components.rollout.sampling import SamplerState, TaskSampler, sample_groups
from components.rollout.streaming import OpenGroups, Step, stream_groups

__all__ = [
    "AllEndedByEnvironment",
    "Branches",
    "Budget",
    "CollectOptions",
    "EpisodeNotStartedError",
    "Group",
    "HarnessErrorLimit",
    "NothingLearnableError",
    "OpenGroups",
    "PacedSessions",
    "PolicyFor",
    "RunCost",
    "SampledGroups",
    "SamplerState",
    "Step",
    "TaskSampler",
    "TooManyHarnessErrors",
    "branch_specs",
    "choose_turns",
    "collect",
    "commonest_reason",
    "episode_seed",
    "episode_specs",
    "harness_errors",
    "paced_sessions",
    "require_agents_endings",
    "rewards_differ",
    "sample_groups",
    "stream_groups",
    "termination_counts",
    "without_run",
]
