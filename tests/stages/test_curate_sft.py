"""The SFT set: the teacher's successes within their caps, and all demonstrations by people that the recipe names."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from components.agent import Renderer
from components.params import load
from components.pipeline.demonstrations import DemonstrationError, add_demonstration, observed_as
from components.quality import QualityError
from components.records import Task, Termination, Trajectory, Verdict
from components.stages import curate_sft
from components.store import read_table, write_table
from tests.samples import a_task, a_trajectory, a_turn, a_verdict, raw_recipe

FILE = Path("data/demonstrations/trajectories.parquet")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with two successes of the teacher, of which the recipe keeps one, and a file of demonstrations."""
    monkeypatch.chdir(tmp_path)
    raw = raw_recipe(curate__max_trajectories=1, curate__demonstrations=[str(FILE)])
    Path("params.yaml").write_text(yaml.dump(raw))
    taught = [a_trajectory(a_task(number)) for number in (1, 2)]
    write_table(curate_sft.TRAJECTORIES, Trajectory, taught)
    write_table(curate_sft.VERDICTS, Verdict, [a_verdict(trajectory) for trajectory in taught])
    for number, pool in enumerate(curate_sft.EVALUATION, start=10):
        write_table(pool, Task, [a_task(number, split="eval", intent=f"Evaluate {number}.")])
    return tmp_path


ADD_TENT = a_task(5, task_id="run-5", intent="Add a red tent.", website="127.0.0.1")


def demonstration(task: Task = ADD_TENT, **changes: object) -> Trajectory:
    params = load()
    renderer = Renderer(params.agent, params.observation, params.model.think_prefix)
    turn = a_turn(0, token_ids=[], logprobs=[])
    prompt = renderer.prompt(task, [], turn.observation)
    turns = [turn.model_copy(update={"prompt_sha256": prompt.sha256})]
    fields = {"policy": "human", "turns": turns, "diagnostics": observed_as(params)}
    return a_trajectory(task).model_copy(update={**fields, **changes})


@pytest.mark.slow
def test_demonstrations_are_added_beyond_the_caps(checkout: Path) -> None:
    by_person = demonstration()
    add_demonstration(by_person, FILE)
    curate_sft.main()
    chosen = read_table(curate_sft.OUT, Trajectory)
    assert [trajectory.policy for trajectory in chosen] == ["sample", "human"]
    assert chosen[1] == by_person
    assert json.loads(Path("reports/stages/curate_sft.json").read_text())["demonstrations"] == 1


def test_demonstrations_that_are_added_at_once_are_all_kept(checkout: Path) -> None:
    same = demonstration()
    with ThreadPoolExecutor(8) as pool:
        added = [*pool.map(lambda _: add_demonstration(same, FILE), range(8))]
    kept = read_table(FILE, Trajectory)
    assert sorted(trajectory.attempt for trajectory in kept) == [*range(8)]
    assert {trajectory.trajectory_id for trajectory in kept} == {trajectory.trajectory_id for trajectory in added}
    assert len({trajectory.trajectory_id for trajectory in kept}) == 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocol": "webgym"}, "is in the protocol webgym"),
        ({"termination": Termination.ABORTED}, "ended with aborted and not with done"),
        ({"diagnostics": {"recipe": "other", "observation": "none"}}, "use the recipe other"),
        ({"turns": [a_turn(0)]}, "was made with other values of agent"),
        ({"turns": []}, "has no turns"),
    ],
)
def test_a_demonstration_that_does_not_fit_the_recipe_is_refused(checkout: Path, changes, message) -> None:
    add_demonstration(demonstration(**changes), FILE)
    with pytest.raises(DemonstrationError, match=message):
        curate_sft.main()


@pytest.mark.parametrize("pool", curate_sft.EVALUATION, ids=lambda pool: pool.stem)
def test_a_demonstration_of_a_task_that_measures_is_refused(checkout: Path, pool: Path) -> None:
    (task,) = read_table(pool, Task)
    add_demonstration(demonstration(task), FILE)
    with pytest.raises(QualityError, match="the model is evaluated on these tasks"):
        curate_sft.main()


def test_a_missing_file_of_demonstrations_is_named(checkout: Path) -> None:
    with pytest.raises(DemonstrationError, match=f"there is no file of demonstrations {FILE}"):
        curate_sft.main()
