"""Branches: further episodes that begin at turns of a group's episodes and go on apart (VinePPO, arXiv 2410.01679).

The draws depend on the seed and on the group's record alone. A run that was killed draws the same turns again, and
finds the branches that had ended in its journal.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Sequence

from components.agent import Branch, EpisodeSpec
from components.params import BranchParams
from components.records import Turn
from components.rollout.groups import Group

Place = tuple[int, int]
"""A member of a group and one of its turns, both counted from 0."""


def choose_turns(group: Group, params: BranchParams, run_seed: int) -> list[Place]:
    """Different turns at which branches of a group begin, in order; fewer than `per_group` if there are no more.

    The first turn of an episode is never drawn, because a branch there is only another attempt. Nor is any turn of a
    masked member.
    """
    places = [
        (member, turn.index)
        for member, (trajectory, reward) in enumerate(zip(group.trajectories, group.rewards, strict=True))
        if not reward.masked
        for turn in trajectory.turns[1:]
    ]
    seeds = ":".join(str(trajectory.seed) for trajectory in group.trajectories)  # their ids name the run, too
    rng = random.Random(f"{run_seed}:branches:{group.task.task_id}:{seeds}")
    if params.turn == "entropy":
        weights = [undecidedness(group.trajectories[member].turns[turn]) for member, turn in places]
        chosen = _weighted_sample(places, weights, params.per_group, rng)
    else:
        chosen = rng.sample(places, min(params.per_group, len(places)))
    return sorted(chosen)


def undecidedness(turn: Turn) -> float:
    """The mean of -log p over the sampled tokens of a turn, in nats: an estimate of the policy's entropy per token."""
    return -sum(turn.logprobs) / len(turn.logprobs) if turn.logprobs else 0.0


def branch_specs(group: Group, places: Sequence[Place], continuations: int, run_seed: int) -> list[EpisodeSpec]:
    """The episodes that branch at these places; those of one place are neighbours. A branch has the number of the
    attempt that it leaves, and a seed of its own."""
    specs = []
    for member, turn in places:
        parent = group.trajectories[member]
        for number in range(continuations):
            text = f"{run_seed}:{parent.task_id}:{parent.seed}:{turn}:{number}"
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
            specs.append(EpisodeSpec(group.task, parent.attempt, parent.policy, seed, Branch(parent, turn)))
    return specs


def _weighted_sample(places: Sequence[Place], weights: Sequence[float], count: int, rng: random.Random) -> list[Place]:
    """A sample without replacement in proportion to weights: the largest of u^(1/w) for uniform u (Efraimidis and
    Spirakis 2006, "Weighted random sampling with a reservoir"). Weights of 0 come last."""
    keys = [math.log(1 - rng.random()) / weight if weight > 0 else -math.inf for weight in weights]
    order = sorted(range(len(places)), key=lambda index: (-keys[index], rng.random()))
    return [places[index] for index in order[:count]]
