"""The teacher's stage when the environment or a bug of the harness ends its episodes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from components.pipeline.stage_run import WORLD_SETTINGS
from components.records import Task, Termination, Trajectory
from components.rollout import AllEndedByEnvironment
from components.stages import teacher_rollouts
from components.store import read_json, read_table, write_json, write_table
from tests.endpoint_server import Server
from tests.loopback import Handler, Loopback
from tests.samples import a_task, shipped
from tests.worlds.task_list import TaskList

RESULT = Path("reports/stages/teacher_rollouts.json")


@pytest.fixture
def teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A model behind an endpoint that only says `done`, and a project in which it teaches."""
    monkeypatch.chdir(tmp_path)
    model = Server()
    model.reply = lambda body: '<think>a</think><tool_call>{"name": "done", "arguments": {"answer": "x"}}</tool_call>'
    yield model
    model.close()


def prepare(model: Server, worlds: dict[str, object], tasks: list[Task], private_hosts: list[str]) -> None:
    """Write the recipe and what the stage reads. Up to half of the episodes may end by bugs of the harness."""
    recipe = shipped("smoke") | {"worlds": worlds}
    recipe["browser"] |= {"navigation_retries": 0}
    recipe["browser"]["egress"]["private_hosts"] = private_hosts
    recipe["rollout"]["max_harness_errors"] = 0.5
    endpoint = {"url": model.url, "model": "a/model", "key_variable": None, "max_retries": 0}
    recipe["teacher"] = {"policy": "endpoint", "endpoint": endpoint, "tasks": 9, "attempts": 1, "max_steps": 2}
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    write_json(WORLD_SETTINGS, {})
    write_table(teacher_rollouts.POOL, Task, tasks)


@pytest.mark.slow
def test_the_stage_fails_with_the_reason_why_no_page_opened(teacher):
    closed = Loopback(Handler)
    closed.close()
    address = f"{closed.origin}/lamp"
    tasks = [a_task(number, start_url=address, website="127.0.0.1", source="shops") for number in range(2)]
    prepare(teacher, {"live": {"independent_episodes": True}}, tasks, ["127.0.0.1"])
    reason = r"all 2 episodes .* most often by env_init_error in 2 of 2: \"http://127\.0\.0\.1:\d+/lamp could not be "
    with pytest.raises(AllEndedByEnvironment, match=reason + r"opened in 1 attempts: the server cannot be reached"):
        teacher_rollouts.main()
    assert not teacher_rollouts.OUT.exists()
    assert not RESULT.exists()


@pytest.mark.slow
def test_the_result_counts_the_episodes_that_bugs_ended(teacher):
    """The site of the errands reads `errand` of each task, which one of the three tasks lacks."""
    tasks = [Task.model_validate(row) for row in asyncio.run(TaskList(TaskList.Params()).tasks(0, (160, 210)))]
    broken = tasks[1].model_copy(update={"evaluator": {"type": "site_reward"}})
    prepare(teacher, {"tests.worlds.task_list:TaskList": {}}, [tasks[0], broken, tasks[2]], [])
    teacher_rollouts.main()
    result = read_json(RESULT)
    assert result["harness_errors"] == 1
    assert result["terminations"] == {"done": 2, "harness_error": 1}
    (ended,) = [t for t in read_table(teacher_rollouts.OUT, Trajectory) if t.termination is Termination.HARNESS_ERROR]
    assert ended.task_id == broken.task_id
    assert "KeyError('errand')" in ended.diagnostics["error"]
