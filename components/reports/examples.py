"""Chooses the trajectories that a report shows: eight, by a rule and never by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from components.evaluation.episodes import Episode
from components.evaluation.taxonomy import FailureKind


@dataclass(frozen=True)
class Example:
    """One trajectory of a report. `policy` is base, sft or rl; `heading` is printed above it."""

    policy: str
    trajectory_id: str
    heading: str


def choose_examples(episodes: dict[str, list[Episode]], successes: int = 4, failures: int = 2) -> list[Example]:
    """Choose a task that RL solves and SFT does not (both attempts), then RL successes, then RL failures.

    Successes come from different families as far as possible, the families with the longest episodes first and the one
    with the shortest last. Failures are of different kinds as far as possible, those of the agent first. A run with
    fewer successes or failures has fewer examples.
    """
    sft, rl = (
        sorted(episodes[name], key=lambda episode: (-episode.turns, episode.task_id, episode.trajectory_id))
        for name in ("sft", "rl")
    )
    examples = _learned_task(sft, rl)
    used = {example.trajectory_id for example in examples}
    solved = [episode for episode in rl if episode.success and episode.trajectory_id not in used]
    failed = sorted(
        (episode for episode in rl if episode.success is False),
        key=lambda episode: not episode.termination.is_agents_doing,
    )
    examples += [Example("rl", episode.trajectory_id, "Solved after RL") for episode in _by_family(solved, successes)]
    examples += [
        Example("rl", episode.trajectory_id, "Still failing after RL") for episode in _by_kind(failed, failures)
    ]
    return examples


def _learned_task(sft: Sequence[Episode], rl: Sequence[Episode]) -> list[Example]:
    failed = {
        episode.task_id: episode for episode in sft if episode.success is False and episode.termination.is_agents_doing
    }
    for after in rl:
        if after.success and after.task_id in failed:
            before = failed[after.task_id].trajectory_id
            return [
                Example("sft", before, "Failed after SFT"),
                Example("rl", after.trajectory_id, "The same task, solved after RL"),
            ]
    return []


def _by_family(solved: Sequence[Episode], limit: int) -> list[Episode]:
    """The longest episode of each family, for the families with the longest ones and the family with the shortest."""
    longest: dict[str, Episode] = {}
    for episode in solved:
        longest.setdefault(episode.family, episode)
    ranked = list(longest.values())
    chosen = ranked if len(ranked) <= limit else [*ranked[: limit - 1], ranked[-1]]
    rest = [episode for episode in solved if episode not in chosen]
    return [*chosen, *rest[: limit - len(chosen)]]


def _by_kind(failed: Sequence[Episode], limit: int) -> list[Episode]:
    """The first episode of each kind of failure, then others."""
    firsts: dict[FailureKind | None, Episode] = {}
    for episode in failed:
        firsts.setdefault(episode.failure, episode)
    rest = [episode for episode in failed if episode not in firsts.values()]
    return [*firsts.values(), *rest][:limit]
