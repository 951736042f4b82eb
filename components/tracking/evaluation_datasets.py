"""The tasks of an evaluation as one of MLflow's evaluation datasets (its page "Datasets").

All evaluations on the same tasks name the same dataset, so that "Evaluation runs" can be filtered by it and runs are
compared on equal terms. Other tasks, or one task more, are another dataset.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from components.records import Task
from components.tracking.backend import Backend, exclusive, with_retries

_SHOWN_SOURCES = 5
_MAX_SOURCES = 200
"""Characters of a name before the number of tasks: a database server holds 255 in all."""


def log_evaluation_dataset(backend: Backend, run_id: str, tasks: Sequence[Task]) -> None:
    """Name the tasks as an input of the run. The dataset is made if no evaluation has had these tasks."""
    records = [_record(task) for task in {task.task_id: task for task in tasks}.values()]
    if not records:
        return
    from mlflow.entities import Dataset, DatasetInput, InputTag
    from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT

    digest, sources = _digest(records), _named(sorted({task.source for task in tasks}))
    name = f"{sources}: {len(records)} tasks ({digest})".replace("'", "’")  # MLflow cannot search for '
    with exclusive():
        source = with_retries(partial(_source, backend, name, records))
    profile = json.dumps({"num_records": len(records)})
    dataset = Dataset(name, digest, "mlflow_evaluation_dataset", source, profile=profile)
    dataset_input = DatasetInput(dataset, tags=[InputTag(MLFLOW_DATASET_CONTEXT, "evaluation tasks")])
    with_retries(lambda: backend.client.log_inputs(run_id, datasets=[dataset_input]))


def _source(backend: Backend, name: str, records: list[dict[str, Any]]) -> str:
    """JSON with the id of MLflow's dataset of this name, which is made or completed if need be."""
    from mlflow.genai.datasets import create_dataset, search_datasets

    known = search_datasets([backend.experiment_id], f"name = '{name}'", max_results=1)
    dataset = known[0] if known else create_dataset(name, backend.experiment_id)
    if json.loads(dataset.profile or "{}").get("num_records") != len(records):  # new, or its maker was killed
        dataset.merge_records(records)
    return dataset.source.to_json()


def _named(sources: Sequence[str]) -> str:
    """The first sources, and how many more there are."""
    more = len(sources) - _SHOWN_SOURCES
    names = sources if more <= 0 else [*sources[:_SHOWN_SOURCES], f"{more} more"]
    return " and ".join(names)[:_MAX_SOURCES]


def _digest(records: Sequence[Mapping[str, Any]]) -> str:
    """Eight hexadecimal digits of what the dataset holds, in any order."""
    lines = sorted(json.dumps(record, sort_keys=True) for record in records)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


def _record(task: Task) -> dict[str, Any]:
    """A task as MLflow's record: what the agent is given, and the answer that is expected of it, if there is one."""
    expectations: Mapping[str, Any] = {"expected_response": task.reference_answer} if task.reference_answer else {}
    return {
        "inputs": {"task_id": task.task_id, "intent": task.intent, "start_url": task.start_url},
        "expectations": dict(expectations),
        "source": {"source_type": "CODE", "source_data": {}},
    }
