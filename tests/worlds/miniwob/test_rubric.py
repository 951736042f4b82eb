"""A task's rubric has one fact for each thing to do, and its difficulty is their number."""

import asyncio

from components.records import Task
from components.tasks.difficulty import level_of
from components.worlds.miniwob.rubric import rubric
from components.worlds.miniwob.site import MiniWoBSite
from components.worlds.miniwob.teacher import PLANS


def facts(family: str, intent: str) -> list[str]:
    return [fact for group in rubric(family, intent) for fact in group.facts]


def test_each_thing_to_do_is_a_fact():
    assert facts("login-user", 'Enter the username "bo" and the password "x1" and press login.') == [
        'The field "Username" holds "bo".',
        'The field "Password" holds "x1".',
        'The button "Login" was clicked.',
    ]
    assert facts("click-checkboxes", "Select a, b and click Submit") == [
        'The checkbox "a" is checked.',
        'The checkbox "b" is checked.',
        'The button "Submit" was clicked.',
    ]
    assert facts("click-tab-2", 'Switch between the tabs to find and click on the link "Amet".') == [
        'The tab that has the link "Amet" was opened.',
        'The link "Amet" was clicked.',
    ]
    assert facts("focus-text-2", "Focus into the 3rd input textbox.") == ["The 3rd field was clicked."]


def test_a_family_or_wording_without_a_plan_has_no_rubric():
    assert rubric("no-such-family", "Do it") == []
    assert rubric("click-button", "Click it") == []


def test_collected_tasks_of_every_family_with_a_plan_have_a_difficulty():
    rows = asyncio.run(MiniWoBSite().collect([*PLANS, "use-slider"], range(8), "train"))
    tasks = [Task.model_validate(row) for row in rows]
    for task in tasks:
        has_plan = task.family in PLANS
        assert (task.difficulty is not None, bool(task.rubric)) == (has_plan, has_plan), task.task_id
    assert {level_of(task.difficulty) for task in tasks} == {None, "easy", "medium"}
