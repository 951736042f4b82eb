"""Many episodes at once: journal, retries, groups, dynamic sampling."""

from components.rollout.collect import PolicyFor, collect, episode_seed, specs
from components.rollout.groups import Group, NothingLearnable, Sampled, TaskCursor, sample_groups

__all__ = [
    "Group",
    "NothingLearnable",
    "PolicyFor",
    "Sampled",
    "TaskCursor",
    "collect",
    "episode_seed",
    "sample_groups",
    "specs",
]
