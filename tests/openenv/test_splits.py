from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.openenv import TaskSplits, tasks_of
from components.openenv.messages import ResetRequest, WebAction
from components.records import Task
from components.store import write_table
from components.tasks import write_tasks
from tests.samples import a_task, recipe

SPLITS = ["heldout", "eval", "train"]


def tasks(*splits: str) -> list[Task]:
    return [a_task(number, split=split, evaluator={"type": "site_reward"}) for number, split in enumerate(splits)]


def test_splits_are_in_one_order_with_the_types_of_openenv():
    splits = TaskSplits(tasks("heldout", "eval", "train", "eval", "heldout_validation"))
    assert splits.descriptors() == [
        {"name": "train", "type": "train"},
        {"name": "eval", "type": "test"},
        {"name": "heldout", "type": "test"},
        {"name": "heldout_validation", "type": "validation"},
    ]
    assert [spec["id"] for spec in splits.specs("eval")] == [splits.task("eval", index).task_id for index in (0, 1)]


@given(st.lists(st.sampled_from(SPLITS), min_size=1, max_size=12), st.integers(0, 2**40), st.sampled_from(SPLITS))
def test_a_reset_gets_the_task_that_it_names(names, seed, split):
    splits = TaskSplits(tasks(*names))
    assert splits.chosen(ResetRequest(seed=seed)) == splits.chosen(ResetRequest(seed=seed, split=splits.names[0]))
    if split in names:
        index = seed % names.count(split)
        task = splits.chosen(ResetRequest(split=split, index=index))
        assert task.split == split
        assert splits.chosen(ResetRequest(task_id=task.task_id)) == task
        with pytest.raises(LookupError, match=f"its tasks are 0 to {names.count(split) - 1}"):
            splits.chosen(ResetRequest(split=split, index=names.count(split)))
    else:
        with pytest.raises(LookupError, match="there is no split"):
            splits.chosen(ResetRequest(split=split, seed=seed))


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_tasks_of_a_file_are_offered_in_place_of_the_recipes(tmp_path, kind):
    path = tmp_path / f"pool.{kind}"
    rows = tasks("train", "eval")
    write_tasks(path, rows) if kind == "jsonl" else write_table(path, Task, rows)
    assert [task.task_id for task in tasks_of(recipe(), [path])] == [row.task_id for row in rows]


@pytest.mark.parametrize(
    ("text", "problem"),
    [(None, "does not exist: name a task file"), ('{"id": 1}\n', "row 0 is no task"), ("", "has no rows")],
)
def test_a_file_without_tasks_is_refused_before_browsers_open(tmp_path, text, problem):
    path = tmp_path / "tasks.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=problem):
        tasks_of(recipe(), [path])


def test_tasks_without_a_rule_are_counted_and_refused_alone(tmp_path):
    path, told = tmp_path / "tasks.jsonl", []
    without = [a_task(9, split="train")]
    write_tasks(path, [*tasks("train", "eval"), *without])
    assert len(tasks_of(recipe(), [path], told.append)) == 3
    assert told == ["1 of 3 tasks have no rule: an episode that ends with `done` there has no reward"]
    path.unlink()
    write_tasks(path, without)
    with pytest.raises(ValueError, match="none of the 1 tasks has a rule, so no episode would have the reward 1"):
        tasks_of(recipe(), [path], told.append)


def test_a_file_of_the_recipe_that_is_missing_is_named(tmp_path):
    told: list[str] = []
    entry = {"path": str(tmp_path / "mine.jsonl"), "split": "train"}
    assert tasks_of(recipe(tasks__files=[entry]), tell=told.append)
    assert told == [f"{tmp_path}/mine.jsonl of tasks.files is missing, so its tasks are not served"]


def test_an_action_has_calls_or_a_response():
    for wrong in ({}, {"calls": []}, {"calls": [{"name": "done"}], "response": "x"}, {"response": "x", "other": 1}):
        with pytest.raises(ValueError, match=r"either `calls`|other"):
            WebAction.model_validate(wrong)
    assert WebAction.model_validate({"response": ""}).response == ""
