"""A world whose episodes find what earlier ones changed is refused wherever tasks are tried more than once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

import pytest
import yaml

from components.benchmarks.rollouts import roll_out_paced
from components.benchmarks.spec import BenchmarkError, Politeness
from components.browser import BrowserPool, Listed, parse_elements
from components.params import BrowserParams, Params, RecipeError, parse
from components.pipeline.rollouts import EpisodeLimits, roll_out
from components.pipeline.stage_run import WORLD_SETTINGS, stage
from components.policies.scripted import ScriptedTeacher
from components.records import Task, ToolCall
from components.rollout import Budget, episode_specs
from components.stages import teacher_rollouts, train_rl
from components.store import write_json, write_table
from components.worlds import TeacherTurn, WorldError, worlds_of
from tests.samples import raw_recipe, shipped
from tests.worlds.task_list import TaskList

ERRANDS = "tests.worlds.task_list:TaskList"
REMEDY = r"`done` could succeed.*copy of the data.*TaskList\.independent_episodes = True"
DONE = ToolCall(name="done", arguments={"answer": "done"})


class Idle:
    """Only says `done`."""

    acts_on: ClassVar[Literal["points"]] = "points"

    def next(self, elements: Sequence[Listed], /) -> TeacherTurn:
        return TeacherTurn("nothing to do", [DONE])


@pytest.fixture
def tasks() -> list[Task]:
    return [Task.model_validate(row) for row in asyncio.run(TaskList(TaskList.Params()).tasks(0, (160, 210)))]


def errands(**changes: object) -> Params:
    return parse(raw_recipe(worlds={ERRANDS: {}}, **changes))


def test_an_agent_that_only_says_done_succeeds_after_another_attempt(tasks):
    async def rewards() -> list[float | None]:
        world, earned = TaskList(TaskList.Params()), []
        async with BrowserPool(BrowserParams(viewport=(160, 210)), world.site(), "elements") as pool:
            for is_idle in (True, False, True):
                async with pool.session(tasks[0]) as session:
                    await session.start(tasks[0])
                    link = parse_elements(await session.oracle())[0]
                    click = ToolCall(name="click", arguments={"x": link.x, "y": link.y})
                    await session.step([DONE] if is_idle else [click, DONE])
                    earned.append(await session.site_reward())
        return earned

    assert asyncio.run(rewards()) == [0.0, 1.0, 1.0]


def test_a_recipe_on_such_a_world_is_refused_with_all_that_repeats():
    repeated = r"teacher\.attempts = 2, rl\.group_size = 3, the evaluations of base, SFT and RL"
    recipe = errands(teacher__attempts=2, rl__group_size=3)
    with pytest.raises(RecipeError, match=rf"worlds\.{re.escape(ERRANDS)}: .*{repeated}.*{REMEDY}"):
        worlds_of(recipe).require_possible(recipe)


def test_live_tasks_need_the_word_of_the_recipe():
    keys = {"teacher": {"policy": "endpoint", "endpoint": {"url": "http://x/v1", "model": "m"}, "tasks": 1}}
    silent = parse(raw_recipe(worlds={"live": {}}, **keys))
    with pytest.raises(RecipeError, match=r"worlds\.live: .*set worlds\.live\.independent_episodes to true"):
        worlds_of(silent).require_possible(silent)
    said = parse(raw_recipe(worlds={"live": {"independent_episodes": True}}, **keys))
    worlds_of(said).require_possible(said)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tasks: list[Task]) -> Path:
    """A project whose pools hold the errands, as if an older recipe had collected them."""
    monkeypatch.chdir(tmp_path)
    recipe = shipped("smoke") | {"worlds": {ERRANDS: {}}}
    recipe["teacher"] |= {"attempts": 2}
    recipe["rl"]["objective"]["replay"] = 0.0  # RL reads no demonstrations, which this project lacks
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    write_json(WORLD_SETTINGS, {"errands": {}})
    for pool in (teacher_rollouts.POOL, train_rl.POOL, train_rl.VALIDATION):
        write_table(pool, Task, tasks)
    (tmp_path / "models/sft").mkdir(parents=True)
    return tmp_path


def test_several_attempts_are_refused_before_any_episode(project):
    with pytest.raises(WorldError, match=REMEDY):
        teacher_rollouts.main()
    assert not [*project.rglob("episodes*.jsonl")]


def test_rl_is_refused_before_any_model_is_loaded(project):
    with pytest.raises(WorldError, match=rf"rl\.group_size = .*{REMEDY}"):
        train_rl.main("short")
    assert not [*project.rglob("episodes*.jsonl")]


def test_repeats_of_a_benchmark_are_refused(project, tasks):
    politeness = Politeness(per_host=1, delay_s=0, robots=False)
    with stage("benchmark") as run, pytest.raises(BenchmarkError, match=rf"repeats = 2.*{REMEDY}"):
        asyncio.run(roll_out_paced(run, run.params, tasks, 2, None, politeness, Budget()))  # type: ignore[arg-type]


@pytest.mark.slow
def test_one_attempt_at_each_task_is_allowed(project, tasks):
    async def attempts() -> int:
        with stage("once") as run:
            episodes = episode_specs(tasks, 1, "idle", run.params.seed)
            limits = EpisodeLimits(run.params.teacher.sampling, max_steps=2)
            return len(await roll_out(run, episodes, lambda spec, session: ScriptedTeacher(session, Idle), limits))

    assert asyncio.run(attempts()) == len(tasks)
