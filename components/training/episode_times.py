"""Where the time of an iteration's episodes went, as figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.records import Trajectory

POLICY, QUEUE = "policy", "queue"
"""Names in `Turn.timings` of the seconds that wait: for the policy, and for the turn of a browser operation."""


def episode_times(journal: Sequence[Trajectory], earlier: int = 0) -> dict[str, float]:
    """Seconds of the episodes in a journal, added up although episodes run side by side.

    `episodes_s` is their whole time. Parts of it are `browser_s` (operations of browsers), `policy_s` (waiting for the
    policy's responses) and `queue_s` (waiting until a browser operation may begin). `vision_s`, `prefill_s` and
    `decode_s` are the time that the policy worked for these episodes (`agent.policy.Work`); they are left out if it is
    not known, as with servers.

    Args:
        earlier: so many of the first records were left by a killed process, and are not counted.
    """
    trajectories = journal[earlier:]
    timings = [times for trajectory in trajectories for times in _timings(trajectory)]
    figures = {
        "episodes_s": sum(_number(trajectory.diagnostics.get("wall_s")) for trajectory in trajectories),
        "browser_s": sum(_number(trajectory.diagnostics.get("replay_s")) for trajectory in trajectories)
        + sum(seconds for times in timings for kind, seconds in times.items() if kind not in (POLICY, QUEUE)),
        "policy_s": sum(times.get(POLICY, 0.0) for times in timings),
        "queue_s": sum(times.get(QUEUE, 0.0) for times in timings),
    }
    if any("work" in trajectory.diagnostics for trajectory in journal):
        works = [work for trajectory in trajectories if isinstance(work := trajectory.diagnostics.get("work"), dict)]
        names = ("vision_s", "prefill_s", "decode_s")
        figures |= {name: sum(_number(work.get(name)) for work in works) for name in names}
    return figures


def _timings(trajectory: Trajectory) -> list[Mapping[str, float]]:
    """Of the start and of each turn that the episode played; a branch has the first turns from its parent."""
    shared = trajectory.branch_of.turn if trajectory.branch_of is not None else 0
    start = trajectory.diagnostics.get("start")
    opened = {kind: _number(seconds) for kind, seconds in start.items()} if isinstance(start, dict) else {}
    return [opened, *(turn.timings for turn in trajectory.turns[shared:])]


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
