"""Which task of a file a trajectory of another agent is joined with: by id, by number or by words."""

from __future__ import annotations

import pytest

from components.judge.joined_tasks import JoinedTasks
from tests.samples import VERIFIED, a_task, a_trajectory


@pytest.mark.parametrize("sources", [("webarena", "visualwebarena"), ("visualwebarena", "webarena")])
@pytest.mark.parametrize(
    ("task_id", "intent", "joined"),
    [
        ("0", "Buy tea", "webarena"),
        ("0", "find a  red bike.", "visualwebarena"),
        ("webarena/0", "Buy tea", "webarena"),
        ("0", "Buy coffee.", None),
        ("webarena/0", "Find a red bike.", None),
    ],
)
def test_of_tasks_with_one_id_the_one_with_the_same_words_is_joined(sources, task_id, intent, joined):
    words = {"webarena": "Buy tea.", "visualwebarena": "Find a red bike."}
    tasks = JoinedTasks.of(a_task(task_id=f"{source}/0", source=source, intent=words[source]) for source in sources)
    trajectory = a_trajectory(a_task(task_id=task_id, source="theirs", intent=intent))
    assert tasks.join(trajectory).task.source == (joined or "theirs")
    assert (tasks.joined, tasks.revised) == ((1, []) if joined else (0, [trajectory.trajectory_id]))
    assert tasks.unknown == []


@pytest.mark.parametrize(("task_id", "joined"), [("0", "webarena/17"), ("17", "webarena/17"), ("webarena/0", None)])
def test_a_number_of_another_task_hides_no_task_with_the_same_words(task_id, joined):
    words = {0: "Find the price of tea.", 17: "Who wrote Emma?"}
    tasks = JoinedTasks.of(a_task(task_id=f"webarena/{n}", source="webarena", intent=words[n]) for n in words)
    trajectory = a_trajectory(a_task(task_id=task_id, source="theirs", intent=words[17]))
    assert tasks.join(trajectory).task.task_id == (joined or task_id)
    assert (tasks.joined, tasks.revised) == ((1, []) if joined else (0, [trajectory.trajectory_id]))


def test_a_trajectory_is_joined_with_a_verified_row_by_its_own_intent():
    evaluator = VERIFIED | {"row": VERIFIED["row"] | {"intent": "Buy tea."}}
    verified = a_task(task_id="verified/0", source="verified", intent="Buy tea.\n\nA form", evaluator=evaluator)
    tasks = JoinedTasks.of([verified])
    for task_id in ("0", "elsewhere"):
        trajectory = a_trajectory(a_task(task_id=task_id, source="theirs", intent="Buy tea"))
        assert tasks.join(trajectory).task == verified
