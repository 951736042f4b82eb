"""Keys of older recipes, and the new key of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components import plugins

RENAMED = {
    "sites.world": "worlds, which names the worlds of the run with their keys: `worlds: {NAME: {…}}`",
    "rl.ppo_epochs": "rl.objective.ppo_epochs (mm_grpo, m_grpo) or rl.objective.epochs (filtered_bc, rft)",
    "rl.clip_low": "rl.objective.clip_low",
    "rl.clip_high": "rl.objective.clip_high",
    "rl.tis_cap": "rl.objective.tis_cap",
    "rl.kl": "rl.objective.kl, of mm_grpo and m_grpo",
    "rl.drop_repeats": "rl.objective.drop_repeats, of filtered_bc",
    "rl.demonstrations": "rl.objective.demonstrations, of rft",
    "rl.max_per_source": "rl.objective.max_per_source, of rft",
    "rl.max_logprob_gap": "rl.objective.max_logprob_gap; leave it out, and it follows from model.dtype",
    "rl.max_mean_logprob_gap": "rl.objective.max_mean_logprob_gap; leave it out, and it follows from model.dtype",
    "rl.task_ratio": "rl.task_sampling: {name: ratio, easy: 2, medium: 5, hard: 3} or the like",
    "judge.endpoint": "judge.model.endpoint",
    "judge.voters": "judge.model.voters",
    "judge.protocol": "judge.model.protocol",
    "judge.temperature": "judge.model.temperature",
    "judge.max_answer_tokens": "judge.model.max_answer_tokens",
    "judge.on_outage": "judge.model.on_outage",
    "judge.screenshots": "judge.distill.screenshots, and judge.model.screenshots for the protocol openwebrl",
    "judge.rollout_tasks": "judge.distill.rollout_tasks",
    "judge.rollout_attempts": "judge.distill.rollout_attempts",
    "judge.rollout_temperature": "judge.distill.rollout_temperature",
    "judge.holdout_share": "judge.distill.holdout_share",
    "judge.max_response_tokens": "judge.distill.max_response_tokens",
    "judge.balance": "judge.distill.balance",
    "judge.optim": "judge.distill.optim",
    "judge.audit_share": "judge.trust.audit_share",
    "judge.min_agreement": "judge.trust.min_agreement",
    "judge.trust_labels": "judge.trust.labels, whose own `labels` is now `file`",
}
"""Old key to new key."""
SECTIONS = ("rl.objective", "rl.task_sampling")
"""Keys whose value was a name in older recipes and is now a section with this `name`."""


def renamed(keys: Mapping[str, Any]) -> dict[str, str]:
    """Old key to new key, including keys that are now in sections of worlds (`World.moved_keys`)."""
    if "worlds" in keys or not ({"sites", "tasks"} & {*keys}):
        return RENAMED
    worlds: list[Any] = [plugins.find("worlds", name) for name in plugins.usable("worlds")]
    return RENAMED | {old: new for world in worlds for old, new in world.moved_keys.items()}


def moved(keys: Mapping[str, Any]) -> list[str]:
    """One line for each old key of a recipe, with its replacement."""
    names = renamed(keys)
    flat = {
        f"{section}.{key}": value
        for section, inside in keys.items()
        if isinstance(inside, Mapping)
        for key, value in inside.items()
    }
    lines = []
    for key, value in flat.items():
        if key == "rl.async":
            staleness = "set rl.max_staleness: 1" if value else "leave rl.max_staleness out, it is 0"
            lines.append(f"rl.async is gone: {staleness}")
        elif key in names:
            lines.append(f"{key} is now {names[key]}")
        elif key in SECTIONS and isinstance(value, str):
            lines.append(f"{key} = {value!r} is now a section: {key}: {{name: {value}}}")
    return lines
