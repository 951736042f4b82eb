"""Finds or creates the MLflow runs of a stage: one parent per pipeline run, one nested run per stage.

Resolved parameters and the git commit identify a pipeline run. The parent's id is kept on disk and can also be found by
tag; a nested run's id is written into the stage's state when it is created. A killed stage resumes its own run, under
its current pipeline; a stage that had finished under another pipeline gets a new run. Two checkouts that share a server
share the parent of equal recipes and commits, and no nested run. Callers must hold the lock of `backend.exclusive`.
"""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from components import store
from components.params import Params
from components.redaction import redacted
from components.tracking.backend import Backend, TrackingError, with_retries
from components.tracking.flat import flatten, mlflow_names

if TYPE_CHECKING:
    from mlflow.entities import Run, RunData

PIPELINE, STAGE, KEY, RECIPE = "waymark.pipeline", "waymark.stage", "waymark.key", "waymark.recipe"
OUTSIDE = "waymark.outside"
"""The tag of nested runs that are no stages of the pipeline."""
OWNER, CHANGED = "waymark.owner", "waymark.changed"
"""The tags that name the state directory for which a nested run was created, and parameters that changed since."""
PARENT, COMMIT, NAME = "mlflow.parentRunId", "mlflow.source.git.commit", "mlflow.runName"
_MAX_PARAM_CHARS = 6000
_PARAMS_PER_BATCH = 100


def parent_run(backend: Backend, params: Params) -> str:
    """The id of the pipeline's run, with the whole recipe as its parameters."""
    flat = flatten(params.model_dump(mode="json"))
    commit = git_commit()
    pipeline = store.digest(params, commit or "no commit")
    id_file = store.STATE / "state" / "pipeline" / f"{pipeline}.json"
    client = backend.client
    parent = _find(backend, json.loads(id_file.read_text())["run_id"]) if id_file.exists() else None
    parent = parent or search(backend, {PIPELINE: pipeline})
    if parent is None:
        tags = {PIPELINE: pipeline, RECIPE: params.name, NAME: f"{params.name}-{pipeline[:6]}"}
        if commit:
            tags[COMMIT] = commit
        parent = with_retries(lambda: client.create_run(backend.experiment_id, tags=tags))
    run_id = parent.info.run_id
    log_params(backend, run_id, flat, parent.data)
    store.write_json(id_file, {"run_id": run_id, "recipe": params.name, "commit": commit})
    with_retries(lambda: client.update_run(run_id, status="RUNNING"))
    return run_id


def nested_run(backend: Backend, parent: str, stage: str, key: str, state: Path, in_pipeline: bool) -> tuple[Run, bool]:
    """The stage's run, and whether an earlier process created it."""
    id_file = state / "mlflow_run_id"
    run = _find(backend, id_file.read_text().strip()) if id_file.exists() else None
    if run is not None and run.info.status == "FINISHED" and run.data.tags.get(PARENT) != parent:
        run = None
    if run is None:  # an earlier process may have been killed before it wrote the id
        run = search(backend, {STAGE: stage, KEY: key, OWNER: _owner(state)}, status="RUNNING")
    resumed = run is not None
    client = backend.client
    if run is None:
        tags = {STAGE: stage, KEY: key, OWNER: _owner(state), PARENT: parent, NAME: stage}
        if not in_pipeline:
            tags[OUTSIDE] = "true"
        if commit := git_commit():
            tags[COMMIT] = commit
        run = with_retries(lambda: client.create_run(backend.experiment_id, tags=tags))
    state.mkdir(parents=True, exist_ok=True)
    partial = state / "mlflow_run_id.part"
    partial.write_text(run.info.run_id)
    store.publish(partial, id_file)
    if resumed:
        with_retries(lambda: client.update_run(run.info.run_id, status="RUNNING"))
        with_retries(lambda: client.set_tag(run.info.run_id, PARENT, parent))
        former_parent = run.data.tags.get(PARENT, parent)
        if former_parent != parent and _find(backend, former_parent):
            close_if_done(backend, former_parent)
    return run, resumed


def _owner(state: Path) -> str:
    """A random name of the state directory, which is on disk before a run is created for it."""
    path = state / "mlflow_owner.json"
    if not path.exists():
        store.write_json(path, {"owner": secrets.token_hex(8)})
    return str(store.read_json(path)["owner"])


def close_if_done(backend: Backend, parent: str) -> None:
    """End the parent if none of its stages is running; it fails if the last run of one of them failed.

    A stage that failed has another run if its inputs were corrected, because corrected inputs have another key. What is
    no stage of the pipeline, such as a benchmark, does not make it fail.
    """
    client = backend.client
    where = f"tags.`{PARENT}` = '{parent}'"
    nested = with_retries(lambda: client.search_runs([backend.experiment_id], where))
    in_order = sorted(nested, key=lambda run: (run.info.end_time or 0, run.info.start_time))
    last = {run.data.tags.get(STAGE): run.info.status for run in in_order if OUTSIDE not in run.data.tags}
    if all(run.info.status != "RUNNING" for run in nested):
        ended = "FINISHED" if nested and set(last.values()) <= {"FINISHED"} else "FAILED"
        with_retries(lambda: client.set_terminated(parent, ended))


def log_params(backend: Backend, run_id: str, flat: Mapping[str, object], logged: RunData | None = None) -> None:
    """Log parameters in batches. Very long values are cut, and passwords in addresses are removed.

    Args:
        logged: the parameters and tags that the run has already. MLflow changes no parameter, so another value of one,
            such as a limit that was raised before the run went on, is in the tag `waymark.changed`. The tag is deleted
            if all parameters have their first values again.
    """
    from mlflow.entities import Param

    texts = {name: redacted(str(flat[key]))[:_MAX_PARAM_CHARS] for key, name in mlflow_names(flat).items()}
    params, tags = (logged.params, logged.tags) if logged is not None else ({}, {})
    entries = [Param(name, text) for name, text in texts.items() if name not in params]
    if changed := {name: text for name, text in texts.items() if params.get(name, text) != text}:
        with_retries(lambda: backend.client.set_tag(run_id, CHANGED, json.dumps(changed)[:_MAX_PARAM_CHARS]))
    elif CHANGED in tags:
        with_retries(lambda: backend.client.delete_tag(run_id, CHANGED))
    for first in range(0, len(entries), _PARAMS_PER_BATCH):
        batch = entries[first : first + _PARAMS_PER_BATCH]
        with_retries(partial(backend.client.log_batch, run_id, params=batch))


def git_commit() -> str | None:
    """The checked-out commit; None without git or a commit."""
    try:
        git = subprocess.run(["git", "rev-parse", "--verify", "HEAD"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return git.stdout.strip() if git.returncode == 0 else None


def _find(backend: Backend, run_id: str) -> Run | None:
    """The run, if it is in this store's experiment and was not deleted."""
    from mlflow.exceptions import MlflowException

    try:
        run = with_retries(lambda: backend.client.get_run(run_id))
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return None
    return run if run.info.lifecycle_stage == "active" and run.info.experiment_id == backend.experiment_id else None


def _quoted(value: str) -> str:
    """A value in MLflow's filter language, which has no escapes."""
    mark = '"' if "'" in value else "'"
    if mark in value:
        raise TrackingError(f"{value}: MLflow cannot search for both kinds of quotation marks: leave out one of them")
    return f"{mark}{value}{mark}"


def search(backend: Backend, tags: Mapping[str, str], status: str | None = None) -> Run | None:
    """A run of the experiment with all these tags, and with this status if one is given; None if there is none.

    Raises:
        TrackingError: a value has both kinds of quotation marks, for which MLflow cannot search.
    """
    where = " and ".join(f"tags.`{name}` = {_quoted(value)}" for name, value in tags.items())
    if status:
        where += f" and attributes.status = '{status}'"
    runs = with_retries(lambda: backend.client.search_runs([backend.experiment_id], where, max_results=1))
    return runs[0] if runs else None
