"""From labelled teacher trajectories to the SFT set: few, short, spread over websites (OpenWebRL, section 4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from components.params import CurateParams
from components.records import Outcome, Trajectory, Verdict
from components.tasks.funnel import Funnel
from components.tasks.sampling import rank


def curate(
    trajectories: Sequence[Trajectory], verdicts: Sequence[Verdict], params: CurateParams, seed: int
) -> tuple[list[Trajectory], Funnel]:
    """Per task the shortest success, at most so many per website and in all, in seeded order.

    Shortest is fewest turns, then fewest response tokens, then the lowest attempt. Tasks are taken in seeded order,
    so the caps keep a sample of a website's tasks and not the first of its file.

    Raises:
        ValueError: a trajectory has no verdict, or two.
    """
    outcome = {verdict.trajectory_id: verdict.outcome for verdict in verdicts}
    unlabelled = [trajectory.trajectory_id for trajectory in trajectories if trajectory.trajectory_id not in outcome]
    if unlabelled or len(outcome) < len(verdicts):
        raise ValueError(
            f"{len(unlabelled)} trajectories have no verdict and {len(verdicts) - len(outcome)} verdicts are double; "
            "run label_trajectories again"
        )
    funnel = Funnel(total=len(trajectories))
    successes = [t for t in trajectories if outcome[t.trajectory_id] is Outcome.SUCCESS and t.format_ok]
    funnel = funnel.then("not a success", _names(trajectories, successes))

    shortest: dict[str, Trajectory] = {}
    for trajectory in sorted(successes, key=_length):
        shortest.setdefault(trajectory.task_id, trajectory)
    per_task = sorted(shortest.values(), key=lambda t: (rank(t.task_id, seed, "curate"), t.task_id))
    funnel = funnel.then("not the task's shortest", _names(successes, per_task))

    taken: Counter[str] = Counter()
    spread: list[Trajectory] = []
    for trajectory in per_task:
        if taken[trajectory.task.website] < params.max_per_website:
            taken[trajectory.task.website] += 1
            spread.append(trajectory)
    funnel = funnel.then("website cap", _names(per_task, spread))

    chosen = spread[: params.max_trajectories]
    return chosen, funnel.then("total cap", _names(spread, chosen))


def _length(trajectory: Trajectory) -> tuple[int, int, int, int]:
    return len(trajectory.turns), trajectory.response_tokens, trajectory.response_characters, trajectory.attempt


def _names(before: Sequence[Trajectory], after: Sequence[Trajectory]) -> list[str]:
    """What went, by task and attempt."""
    stay = {trajectory.trajectory_id for trajectory in after}
    return [f"{t.task_id} (attempt {t.attempt})" for t in before if t.trajectory_id not in stay]
