"""Attempts shown with the task of another attempt, as failures for a judge to learn from.

After SFT most attempts succeed, so a judge has few failures to learn from. An attempt that succeeded at one task is a
failure if it is shown with another task. A judge can recognise such a failure only by comparing the task with the
actions. Both tasks are of one website, so that the page and the wording give no hint. This assumes that the tasks of a
website ask for different things.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

from components.judge import rules
from components.lazy_records import read_in_order
from components.records import Outcome, Task, Trajectory, Verdict, trajectory_id

JUDGE, VERSION = "mismatched", "1"
"""Of the labels."""


def mismatched(
    trajectories: Sequence[Trajectory], verdicts: Mapping[str, Verdict], share: float, seed: int
) -> tuple[list[Trajectory], list[Verdict]]:
    """Successful attempts with another task, and their labels.

    Args:
        verdicts: by trajectory id, on all trajectories.
        share: the number of examples, as a share of the successful attempts. There are fewer if tasks of a website do
            not differ in what they ask for.
        seed: of the choice of attempts and tasks.
    """
    rng = random.Random(seed)
    tasks: dict[str, dict[str, Task]] = defaultdict(dict)
    for trajectory in trajectories:
        tasks[trajectory.task.website][trajectory.task.intent] = trajectory.task
    is_success = (verdicts[trajectory.trajectory_id].outcome is Outcome.SUCCESS for trajectory in trajectories)
    succeeded = [place for place, success in enumerate(is_success) if success]
    examples, labels = [], []
    for trajectory in read_in_order(trajectories, rng.sample(succeeded, round(share * len(succeeded)))):
        others = [task for intent, task in tasks[trajectory.task.website].items() if intent != trajectory.task.intent]
        if not others:
            continue
        example = _with_task(trajectory, rng.choice(others))
        examples.append(example)
        labels.append(_label(example, trajectory, verdicts[trajectory.trajectory_id]))
    return examples, labels


def _with_task(trajectory: Trajectory, task: Task) -> Trajectory:
    identity = trajectory_id(task.task_id, trajectory.attempt, f"{JUDGE} {trajectory.trajectory_id}", trajectory.seed)
    other = trajectory.task.model_copy(update={"intent": task.intent})
    return trajectory.model_copy(update={"trajectory_id": identity, "task": other})


def _label(example: Trajectory, trajectory: Trajectory, verdict: Verdict) -> Verdict:
    """A failure with a rationale in the words of the judge that labelled the attempt: the rules list what was done."""
    by_rules = rules.rationale(example)
    did = f'The agent did another task: "{trajectory.task.intent}" The task is: "{example.task.intent}"'
    return Verdict(
        trajectory_id=example.trajectory_id,
        outcome=Outcome.FAILURE,
        rationale=by_rules if verdict.judge == rules.JUDGE else did,
        judge=JUDGE,
        judge_version=VERSION,
    )
