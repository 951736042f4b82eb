"""The MLflow server or database behind this room: quiet, patient, and locked where two stages could collide.

With a SQLite address the database is made on first use (migrations, a second or two) and artifacts go to `artifacts`
beside it; with an http address both are the server's. Accepted: the lock is this checkout's, so two machines that
start the same recipe and commit at the same instant on one server can make two parent runs.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from components import store
from components.params import TrackingParams

if TYPE_CHECKING:
    from mlflow import MlflowClient

T = TypeVar("T")

_SQLITE = "sqlite:///"
_BUSY_WAITS_S = (0.2, 1.0, 5.0)
"""Waits between attempts on a locked SQLite file; MLflow itself waits up to 20 s in each attempt."""


class TrackingError(RuntimeError):
    """MLflow does not hold what it should. The message says what to do."""


@dataclass(frozen=True)
class Backend:
    """A connection to one experiment."""

    client: MlflowClient
    uri: str
    experiment_id: str


def connect(tracking: TrackingParams) -> Backend:
    """Open the tracking store, made with its experiment if it is not there yet."""
    quiet()
    import mlflow
    from mlflow import MlflowClient

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    uri = _absolute(tracking.tracking_uri)
    mlflow.set_tracking_uri(uri)  # traces know no other way
    with exclusive():
        client = patiently(lambda: MlflowClient(uri))
        experiment = patiently(lambda: client.get_experiment_by_name(tracking.experiment))
        if experiment is None:
            location = _artifacts(uri)
            experiment_id = patiently(lambda: client.create_experiment(tracking.experiment, artifact_location=location))
        elif experiment.lifecycle_stage != "active":
            raise TrackingError(
                f"experiment {tracking.experiment!r} was deleted in MLflow; run `mlflow experiments restore "
                f"--experiment-id {experiment.experiment_id}` or set another tracking.experiment"
            )
        else:
            experiment_id = experiment.experiment_id
    return Backend(client, uri, experiment_id)


def quiet() -> None:
    """No telemetry, no progress bars, no background exporter. Must run before the first import of MLflow."""
    os.environ.update(
        MLFLOW_DISABLE_TELEMETRY="true",
        MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR="false",
        MLFLOW_ENABLE_ASYNC_TRACE_LOGGING="false",
    )


@contextmanager
def exclusive() -> Iterator[None]:
    """One process of this checkout at a time. The kernel drops the lock with the process, however it dies."""
    path = store.STATE / "state" / "pipeline" / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def patiently(call: Callable[[], T]) -> T:
    """Call MLflow; if the SQLite file is locked by somebody else, wait and call again.

    Raises:
        TrackingError: it is still locked after a minute or more.
    """
    from mlflow.exceptions import MlflowException

    for wait in (*_BUSY_WAITS_S, None):
        try:
            return call()
        except MlflowException as error:
            if "database is locked" not in str(error):
                raise
            if wait is None:
                raise TrackingError(
                    "the MLflow database stays locked; close what writes to it, then run the stage again: it goes on "
                    "from where it was"
                ) from error
            time.sleep(wait)
    raise AssertionError("unreachable")


def _absolute(uri: str) -> str:
    """MLflow caches connections by address: a relative one would outlive a change of the working directory."""
    return _SQLITE + str(Path(uri.removeprefix(_SQLITE)).resolve()) if uri.startswith(_SQLITE) else uri


def _artifacts(uri: str) -> str | None:
    """Beside a SQLite file; a server knows its own."""
    return (Path(uri.removeprefix(_SQLITE)).parent / "artifacts").as_uri() if uri.startswith(_SQLITE) else None
