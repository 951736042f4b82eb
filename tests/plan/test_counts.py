"""The plan counts the tasks that collect_tasks makes of a recipe's worlds and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.params import TaskFile
from components.plan import plan
from components.plan.hardware import Device
from components.plan.placement import Machine
from components.plan.rates import default_rates
from components.plan.setting import Setting, _tasks_of
from components.plan.training_time import sft_time
from components.worlds.city import City
from components.worlds.city.params import CityParams
from components.worlds.city.tasks.registry import templates

CORES = Device("cpu", 16e9, 120e9, 20e9, True)
INSTA = [
    {"website": "https://shop.example", "instruction": f"find {number}", "steps": [], "criteria": ["found"]}
    for number in range(7)
]
QUESTION = {"intent": "find it", "start_url": "https://shop.example", "website": "shop.example"}


@pytest.fixture
def write(tmp_path):
    def written(name: str, text: str, split=None) -> TaskFile:
        path = tmp_path / name
        path.write_text(text)
        return TaskFile(path=str(path), split=split)

    return written


def test_tasks_without_ids_in_a_json_list_are_counted(write):
    assert _tasks_of(write("insta.json", json.dumps(INSTA), "train")) == ({"train": 7}, "")
    assert _tasks_of(write("lines.json", json.dumps(INSTA, indent=1), "train")) == ({"train": 7}, "")


def test_an_id_in_the_words_of_a_task_is_no_task(write):
    row = QUESTION | {"task_id": "a", "intent": 'read "task_id"', "evaluator": {"task_id": "b"}}
    assert _tasks_of(write("own.jsonl", json.dumps(row), "eval")) == ({"eval": 1}, "")


def test_a_file_without_a_split_has_the_splits_of_its_rows(write):
    rows = [
        QUESTION | {"task_id": str(number), "split": split} for number, split in enumerate(["train", "eval", "train"])
    ]
    assert _tasks_of(write("own.jsonl", "\n".join(map(json.dumps, rows)))) == ({"train": 2, "eval": 1}, "")
    assert _tasks_of(write("insta.json", json.dumps(INSTA))) == ({"train": 7}, "")


def test_a_file_that_cannot_be_read_is_named(write):
    tasks, line = _tasks_of(write("tasks.csv", "a,b\n"))
    assert tasks == {"eval": 300}
    assert "tasks.csv counts as 300 tasks" in line


def test_the_city_plans_templates_of_sites_and_heldout_modifiers():
    shop = [template for template in templates().values() if template.sites[0] == "shop"]
    section = CityParams(
        train=["shop"], heldout=["forum_unlock_topic"], train_per_template=6, eval_per_template=3,
        heldout_per_template=2, heldout_modifiers=["layout", "theme"],
    )  # fmt: skip
    planned = City(section).planned_tasks(8, 4)
    assert planned == {
        "train": 6 * len(shop), "eval": 3 * len(shop), "heldout": 2 + 2 * 2 * len(shop), "validation": 8,
        "heldout_validation": 4,
    }  # fmt: skip


@pytest.mark.parametrize(("recipe", "collected", "evaluation"), [("city-demo", 520, 116), ("demo", 1004, 256)])
def test_recipes_have_the_tasks_that_their_worlds_give(recipe, collected, evaluation):
    params = plan(Path(recipe)).recipe
    machine = Machine(CORES, 1)
    counts, _ = Setting(params, machine, default_rates(params, CORES)).counts()
    assert (counts.collected, counts.evaluation) == (collected, evaluation)


def test_a_teacher_has_at_most_the_training_tasks_that_there_are():
    """The demo's world gives 12 x 60 training tasks and validation tasks of its own; here 12 x 3."""
    params = plan(Path("demo")).recipe
    machine, rates = Machine(CORES, 1), default_rates(params, CORES)
    few = params.worlds["miniwob"].model_copy(update={"train_per_family": 3})
    small = Setting(params.model_copy(update={"worlds": {"miniwob": few}}), machine, rates)
    whole = Setting(params, machine, rates)
    assert (small.taught, whole.taught) == (36, params.teacher.tasks)
    assert small.judged == 36
    assert sft_time(small).usage.seconds < 0.5 * sft_time(whole).usage.seconds
    assert small.counts()[0].collected == 36 + 24 + 4 + 256


def test_validation_tasks_are_set_aside_from_those_of_the_teacher(write):
    rows = "\n".join(json.dumps(QUESTION | {"task_id": str(number), "split": "train"}) for number in range(40))
    params = plan(Path("demo")).recipe

    def taught(file: TaskFile) -> int:
        tasks = params.tasks.model_copy(update={"files": [file]})
        changed = params.model_copy(update={"worlds": {}, "tasks": tasks})
        return Setting(changed, Machine(CORES, 1), default_rates(params, CORES)).taught

    assert taught(write("own.jsonl", rows)) == 40 - params.rl.validation.tasks
    assert taught(TaskFile(path="no/such.jsonl", split="train")) == params.teacher.tasks
