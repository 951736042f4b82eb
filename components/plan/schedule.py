"""The wall time of a whole run, whose stages run side by side where they do not wait for each other."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from components.plan.hardware import Device

NEEDS: dict[str, tuple[str, ...]] = {
    "collect_tasks": (),
    "filter_tasks": ("collect_tasks",),
    "dedup_tasks": ("filter_tasks",),
    "teacher_rollouts": ("dedup_tasks",),
    "label_trajectories": ("teacher_rollouts",),
    "curate_sft": ("label_trajectories",),
    "train_sft": ("curate_sft",),
    "judge_rollouts": ("train_sft",),
    "distill_judge": ("judge_rollouts",),
    "train_rl@short": ("train_sft",),
    "train_rl@long": ("train_rl@short",),
    "evaluate@base": ("filter_tasks",),
    "evaluate@sft": ("train_sft",),
    "evaluate@rl": ("train_rl@long",),
    "report": ("evaluate@base", "evaluate@sft", "distill_judge", "evaluate@rl"),
}
"""The stages that each stage waits for, without those that these wait for. A test compares them with dvc.yaml."""
REWARD_NEEDS = {"model": "judge_rollouts", "distilled": "distill_judge"}
"""The stage that the first phase of RL waits for by `judge.reward`; rules are there from the start."""


def default_side_by_side(device: Device) -> int:
    """How many stages the pipeline runs at once: two, or one that may fill the GPUs."""
    return 2 if device.is_cpu else 1


def wall_seconds(seconds: Mapping[str, float], side_by_side: int, between_s: float, reward: str) -> float:
    """Wall time of a run, scheduled as the pipeline does it: a ready stage with the longest chain of stages after it
    gets the next free slot.

    Args:
        seconds: of each stage.
        side_by_side: number of slots.
        between_s: seconds before each stage in which its process starts, in its slot.
        reward: `judge.reward`.
    """
    needs = {name: set(NEEDS[name]) for name in seconds}
    if reward in REWARD_NEEDS:
        needs["train_rl@short"].add(REWARD_NEEDS[reward])
    chains = _chain_lengths(needs)
    waiting, done = set(needs), set[str]()
    running: list[tuple[float, str]] = []
    now = 0.0
    while waiting or running:
        ready = sorted((name for name in waiting if needs[name] <= done), key=lambda name: (-chains[name], name))
        for name in ready[: side_by_side - len(running)]:
            heapq.heappush(running, (now + between_s + seconds[name], name))
            waiting.remove(name)
        now, ended = heapq.heappop(running)
        done.add(ended)
    return now


def _chain_lengths(needs: Mapping[str, set[str]]) -> dict[str, int]:
    """Per stage the length of the longest chain of stages that wait for it."""
    lengths: dict[str, int] = {}

    def length(name: str) -> int:
        if name not in lengths:
            lengths[name] = max((1 + length(other) for other in needs if name in needs[other]), default=0)
        return lengths[name]

    for name in needs:
        length(name)
    return lengths
