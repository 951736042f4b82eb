"""Chooses the trajectories of supervised training; each choice has its funnel.

`curate` chooses the SFT set from a teacher's trajectories: few, short, from many websites (OpenWebRL, section 4.2).
`curate_rft` and `mix` choose the set of rejection fine-tuning from the policy's own attempts (BrowserAgent, sections
2.4 and B.5): for questions with right and wrong attempts, the longest right attempt, since more steps mean deeper
reasoning; and a share of the earlier demonstrations against forgetting.

Deviation: the paper also filters by string matching on its answer format; here a malformed answer is never a success.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.lazy_records import read_in_order
from components.params import CurateParams
from components.records import Outcome, Reward, Trajectory, Verdict
from components.tasks.funnel import Funnel
from components.tasks.sampling import rank


@dataclass(frozen=True)
class _Attempt:
    """What the choice of demonstrations needs of a trajectory, which may be too large to be kept in memory."""

    place: int
    """Among the trajectories."""
    trajectory_id: str
    task_id: str
    website: str
    attempt: int
    length: tuple[int, int, int, int]
    """Turns, response tokens, response characters, attempt: the order of equal successes."""
    format_ok: bool

    @classmethod
    def of(cls, place: int, trajectory: Trajectory) -> _Attempt:
        length = len(trajectory.turns), trajectory.response_tokens, trajectory.response_characters, trajectory.attempt
        task = trajectory.task
        names = trajectory.trajectory_id, task.task_id, task.website
        return cls(place, *names, trajectory.attempt, length, trajectory.format_ok)


def curate(
    trajectories: Sequence[Trajectory], verdicts: Sequence[Verdict], params: CurateParams, seed: int
) -> tuple[list[Trajectory], Funnel]:
    """The shortest success of each task in seeded order, with caps per website and in total.

    The shortest has the fewest turns, then the fewest response tokens, then the lowest attempt. Because of the seeded
    order, the caps keep a sample of a website's tasks, not the first ones of its file. Each trajectory is read
    once, in order, and the chosen ones once more.

    Raises:
        ValueError: a trajectory has no verdict, or two.
    """
    outcome = {verdict.trajectory_id: verdict.outcome for verdict in verdicts}
    attempts = [_Attempt.of(place, trajectory) for place, trajectory in enumerate(trajectories)]
    unlabelled = [attempt for attempt in attempts if attempt.trajectory_id not in outcome]
    if unlabelled or len(outcome) < len(verdicts):
        raise ValueError(
            f"{len(unlabelled)} trajectories have no verdict and {len(verdicts) - len(outcome)} verdicts are "
            "duplicates; run label_trajectories again"
        )
    funnel = Funnel(total=len(attempts))
    successes = [a for a in attempts if outcome[a.trajectory_id] is Outcome.SUCCESS and a.format_ok]
    funnel = funnel.then("not a success", _names(attempts, successes))

    shortest: dict[str, _Attempt] = {}
    for attempt in sorted(successes, key=lambda attempt: attempt.length):
        shortest.setdefault(attempt.task_id, attempt)
    per_task = sorted(shortest.values(), key=lambda attempt: (rank(attempt.task_id, seed, "curate"), attempt.task_id))
    funnel = funnel.then("not the task's shortest", _names(successes, per_task))

    taken: Counter[str] = Counter()
    spread: list[_Attempt] = []
    for attempt in per_task:
        if taken[attempt.website] < params.max_per_website:
            taken[attempt.website] += 1
            spread.append(attempt)
    funnel = funnel.then("website cap", _names(per_task, spread))

    chosen = spread[: params.max_trajectories]
    funnel = funnel.then("total cap", _names(spread, chosen))
    return read_in_order(trajectories, [attempt.place for attempt in chosen]), funnel


def curate_rft(
    trajectories: Sequence[Trajectory],
    rewards: Sequence[Reward],
    max_per_source: Mapping[str, int] | None = None,
    seed: int = 0,
) -> tuple[list[Trajectory], Funnel]:
    """One right attempt per mixed question: the one with most turns; of equally long ones, the first attempt.

    Args:
        trajectories: several attempts per question (the paper: 4), in any order; questions keep the order of their
            first attempts.
        rewards: one per trajectory; masked attempts are ignored.
        max_per_source: limits on the questions of a source, drawn by `seed` (the paper: 400 of NQ, 673 of HotpotQA).

    Raises:
        ValueError: a trajectory has no reward, or two.
    """
    by_id = {reward.trajectory_id: reward for reward in rewards}
    unscored = [trajectory.trajectory_id for trajectory in trajectories if trajectory.trajectory_id not in by_id]
    if unscored or len(by_id) < len(rewards):
        raise ValueError(
            f"{len(unscored)} trajectories have no reward and {len(rewards) - len(by_id)} rewards are duplicates; "
            "judge the attempts again"
        )
    is_right = {key: reward.value > 0 for key, reward in by_id.items() if not reward.masked}
    scored = [trajectory for trajectory in trajectories if trajectory.trajectory_id in is_right]
    funnel = Funnel(total=len(trajectories)).then("masked", _names(trajectories, scored))

    outcomes: dict[str, set[bool]] = {}
    for trajectory in scored:
        outcomes.setdefault(trajectory.task_id, set()).add(is_right[trajectory.trajectory_id])
    solved = [trajectory for trajectory in scored if True in outcomes[trajectory.task_id]]
    funnel = funnel.then("question never right", _names(scored, solved))
    mixed = [trajectory for trajectory in solved if False in outcomes[trajectory.task_id]]
    funnel = funnel.then("question never wrong", _names(solved, mixed))
    right = [trajectory for trajectory in mixed if is_right[trajectory.trajectory_id]]
    funnel = funnel.then("wrong", _names(mixed, right))

    longest: dict[str, Trajectory] = {}
    for trajectory in right:
        best = longest.setdefault(trajectory.task_id, trajectory)
        if (len(best.turns), -best.attempt) < (len(trajectory.turns), -trajectory.attempt):
            longest[trajectory.task_id] = trajectory
    chosen = list(longest.values())
    funnel = funnel.then("not the question's longest", _names(right, chosen))
    if max_per_source is None:
        return chosen, funnel

    taken: Counter[str] = Counter()
    capped: set[str] = set()
    for trajectory in sorted(
        chosen, key=lambda trajectory: (rank(trajectory.task_id, seed, "rft"), trajectory.task_id)
    ):
        taken[trajectory.task.source] += 1
        if taken[trajectory.task.source] > max_per_source.get(trajectory.task.source, len(chosen)):
            capped.add(trajectory.trajectory_id)
    left = [trajectory for trajectory in chosen if trajectory.trajectory_id not in capped]
    return left, funnel.then("source cap", _names(chosen, left))


def mix(
    chosen: Sequence[Trajectory], demonstrations: Sequence[Trajectory], share: float, seed: int
) -> tuple[list[Trajectory], Funnel]:
    """The chosen attempts and a random `share` of the demonstrations (the paper: 0.8), in their order.

    The funnel counts demonstrations.
    """
    keep = sorted(random.Random(seed).sample(range(len(demonstrations)), round(share * len(demonstrations))))
    kept = [demonstrations[index] for index in keep]
    funnel = Funnel(total=len(demonstrations)).then("not in the share", _names(demonstrations, kept))
    return [*chosen, *kept], funnel


def _names(before: Sequence[Trajectory | _Attempt], after: Sequence[Trajectory | _Attempt]) -> list[str]:
    """The dropped trajectories by task and attempt."""
    stay = {trajectory.trajectory_id for trajectory in after}
    return [
        f"{trajectory.task_id} (attempt {trajectory.attempt})"
        for trajectory in before
        if trajectory.trajectory_id not in stay
    ]
