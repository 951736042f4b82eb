"""The tasks of an evaluation are one of MLflow's evaluation datasets, the same one for all runs on these tasks."""

from __future__ import annotations

from pathlib import Path

import mlflow.genai.datasets
import pytest
from mlflow import MlflowClient
from mlflow.genai.datasets import EvaluationDataset

from components.params import Params
from components.tracking import stage_run
from tests.samples import a_task, a_trajectory

TASKS = [a_task(0, reference_answer="42"), a_task(1), a_task(2)]


def evaluate(params: Params, stage: str, tasks: list, attempts: int = 1) -> str:
    """The id of the run."""
    episodes = [a_trajectory(task, turns=1, attempt=attempt) for task in tasks for attempt in range(attempts)]
    with stage_run(params, stage, "key", Path("state") / stage) as run:
        run.evaluation(episodes, [])
    return run.run_id


def datasets(client: MlflowClient) -> list[EvaluationDataset]:
    experiment = client.get_experiment_by_name("waymark").experiment_id
    return mlflow.genai.datasets.search_datasets(experiment_ids=[experiment])


def test_runs_on_the_same_tasks_name_one_dataset(params: Params, client: MlflowClient) -> None:
    runs = [evaluate(params, "evaluate@sft", TASKS), evaluate(params, "evaluate@rl", TASKS[::-1], attempts=2)]
    (dataset,) = datasets(client)
    assert dataset.name.startswith("miniwob: 3 tasks (")
    for run_id in runs:
        (given,) = client.get_run(run_id).inputs.dataset_inputs
        assert (given.dataset.name, dataset.dataset_id in given.dataset.source) == (dataset.name, True)
        assert given.dataset.digest == dataset.name[-9:-1]
    records = {record.inputs["task_id"]: record for record in dataset._mlflow_dataset.records}
    assert records.keys() == {task.task_id for task in TASKS}
    first = records[TASKS[0].task_id]
    assert first.inputs == {
        "task_id": TASKS[0].task_id, "intent": TASKS[0].intent, "start_url": TASKS[0].start_url
    }  # fmt: skip
    assert (first.expectations, records[TASKS[1].task_id].expectations) == ({"expected_response": "42"}, {})


def test_other_tasks_are_another_dataset(params: Params, client: MlflowClient) -> None:
    changed = [*TASKS[:2], TASKS[2].model_copy(update={"intent": "something else"})]
    for number, tasks in enumerate((TASKS, TASKS[:2], changed)):
        evaluate(params, f"evaluate@{number}", tasks)
    assert sorted(dataset.name.partition(" (")[0] for dataset in datasets(client)) == [
        "miniwob: 2 tasks", "miniwob: 3 tasks", "miniwob: 3 tasks"
    ]  # fmt: skip


def test_a_source_of_tasks_may_have_an_apostrophe(params: Params, client: MlflowClient) -> None:
    tasks = [task.model_copy(update={"source": 'Ann\'s "shop"'}) for task in TASKS]
    for stage in ("evaluate@sft", "evaluate@rl"):
        evaluate(params, stage, tasks)
    (dataset,) = datasets(client)
    assert dataset.name.startswith('Ann’s "shop": 3 tasks (')


@pytest.mark.parametrize(
    ("sources", "shown"),
    [
        ([f"shop{number}.example" for number in range(1, 6)], " and ".join(f"shop{n}.example" for n in range(1, 6))),
        (
            [f"shop{number:02}.example" for number in range(40)],
            " and ".join(f"shop{number:02}.example" for number in range(5)) + " and 35 more",
        ),
        (["s" * 300], "s" * 200),
    ],
)
def test_a_dataset_of_many_sources_is_named_by_the_first(
    params: Params, client: MlflowClient, sources: list[str], shown: str
) -> None:
    tasks = [a_task(number, source=source) for number, source in enumerate(sources)]
    for stage in ("evaluate@sft", "evaluate@rl"):
        evaluate(params, stage, tasks)
    (dataset,) = datasets(client)
    assert dataset.name.partition(": ")[0] == shown
    assert len(dataset.name) <= 255


def test_a_dataset_whose_maker_was_killed_is_completed(
    params: Params, client: MlflowClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(EvaluationDataset, "merge_records", lambda self, records: None)
        evaluate(params, "evaluate@sft", TASKS)
    assert len(datasets(client)[0].to_df()) == 0
    evaluate(params, "evaluate@sft", TASKS)
    (dataset,) = datasets(client)
    assert len(dataset.to_df()) == 3
