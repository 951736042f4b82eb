"""Many episodes at once: journal, retries, groups, dynamic sampling."""

from components.rollout.collect import PolicyFor, collect, episode_seed, specs
from components.rollout.groups import Group, NothingLearnable, Sampled
from components.rollout.sampling import SamplerState, TaskSampler, sample_groups

__all__ = [
    "Group",
    "NothingLearnable",
    "PolicyFor",
    "Sampled",
    "SamplerState",
    "TaskSampler",
    "collect",
    "episode_seed",
    "sample_groups",
    "specs",
]
