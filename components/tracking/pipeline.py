"""Find the run that this work belongs to, or make it: one parent per pipeline run, one nested run per stage.

A pipeline run is its resolved parameters and the git commit. The parent's id is remembered on disk and found again by
tag; a nested run's id is written into the stage's state as soon as it exists. A stage that was killed goes on in its
own run, under the pipeline it now belongs to; one that had finished under another pipeline gets a new run.
Callers hold the lock of `backend.exclusive`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from components import store
from components.params import Params
from components.secrets import redacted
from components.tracking.backend import Backend, patiently
from components.tracking.flat import flatten, mlflow_name

if TYPE_CHECKING:
    from mlflow.entities import Run

PIPELINE, STAGE, KEY, RECIPE = "waymark.pipeline", "waymark.stage", "waymark.key", "waymark.recipe"
PARENT, COMMIT, NAME = "mlflow.parentRunId", "mlflow.source.git.commit", "mlflow.runName"
_MAX_PARAM_CHARS = 6000
_PARAMS_PER_BATCH = 100


def parent_run(backend: Backend, params: Params) -> str:
    """The id of the pipeline's run, with the whole recipe as its parameters."""
    flat = flatten(params.model_dump(mode="json"))
    commit = git_commit()
    pipeline = store.digest(params, commit or "no commit")
    memory = store.STATE / "state" / "pipeline" / f"{pipeline}.json"
    client = backend.client
    parent = _find(backend, json.loads(memory.read_text())["run_id"]) if memory.exists() else None
    parent = parent or _search(backend, {PIPELINE: pipeline})
    if parent is None:
        tags = {PIPELINE: pipeline, RECIPE: params.name, NAME: f"{params.name}-{pipeline[:6]}"}
        if commit:
            tags[COMMIT] = commit
        parent = patiently(lambda: client.create_run(backend.experiment_id, tags=tags))
    run_id = parent.info.run_id
    log_params(backend, run_id, {name: value for name, value in flat.items() if name not in parent.data.params})
    store.write_json(memory, {"run_id": run_id, "recipe": params.name, "commit": commit})
    patiently(lambda: client.update_run(run_id, status="RUNNING"))
    return run_id


def nested_run(backend: Backend, parent: str, stage: str, key: str, state: Path) -> tuple[Run, bool]:
    """The stage's run, and whether an earlier process had begun it."""
    memory = state / "mlflow_run_id"
    run = _find(backend, memory.read_text().strip()) if memory.exists() else None
    if run is not None and run.info.status == "FINISHED" and run.data.tags.get(PARENT) != parent:
        run = None
    if run is None:  # killed between the creation of the run and the writing of its id
        run = _search(backend, {STAGE: stage, KEY: key}, status="RUNNING")
    resumed = run is not None
    client = backend.client
    if run is None:
        tags = {STAGE: stage, KEY: key, PARENT: parent, NAME: stage}
        if commit := git_commit():
            tags[COMMIT] = commit
        run = patiently(lambda: client.create_run(backend.experiment_id, tags=tags))
    state.mkdir(parents=True, exist_ok=True)
    partial = state / "mlflow_run_id.part"
    partial.write_text(run.info.run_id)
    store.publish(partial, memory)
    if resumed:
        patiently(lambda: client.update_run(run.info.run_id, status="RUNNING"))
        patiently(lambda: client.set_tag(run.info.run_id, PARENT, parent))
        left = run.data.tags.get(PARENT, parent)
        if left != parent and _find(backend, left):
            settle(backend, left)
    return run, resumed


def settle(backend: Backend, parent: str) -> None:
    """The parent ends with the last of its stages, and has failed if one of them has."""
    client = backend.client
    where = f"tags.`{PARENT}` = '{parent}'"
    statuses = {run.info.status for run in patiently(lambda: client.search_runs([backend.experiment_id], where))}
    if "RUNNING" not in statuses:
        ended = "FINISHED" if statuses == {"FINISHED"} else "FAILED"
        patiently(lambda: client.set_terminated(parent, ended))


def log_params(backend: Backend, run_id: str, flat: Mapping[str, object]) -> None:
    """Log parameters, as many as there are; a very long value is cut, a password in an address left out."""
    from mlflow.entities import Param

    entries = [Param(mlflow_name(key), redacted(str(value))[:_MAX_PARAM_CHARS]) for key, value in flat.items()]
    for first in range(0, len(entries), _PARAMS_PER_BATCH):
        batch = entries[first : first + _PARAMS_PER_BATCH]
        patiently(lambda batch=batch: backend.client.log_batch(run_id, params=batch))


def git_commit() -> str | None:
    """The commit that is checked out, if there is one."""
    try:
        said = subprocess.run(["git", "rev-parse", "--verify", "HEAD"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return said.stdout.strip() if said.returncode == 0 else None


def _find(backend: Backend, run_id: str) -> Run | None:
    """The run if it is still in this store's experiment and was not deleted."""
    from mlflow.exceptions import MlflowException

    try:
        run = patiently(lambda: backend.client.get_run(run_id))
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return None
    return run if run.info.lifecycle_stage == "active" and run.info.experiment_id == backend.experiment_id else None


def _search(backend: Backend, tags: Mapping[str, str], status: str | None = None) -> Run | None:
    where = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
    if status:
        where += f" and attributes.status = '{status}'"
    found = patiently(lambda: backend.client.search_runs([backend.experiment_id], where, max_results=1))
    return found[0] if found else None
