"""The connection to MLflow: without its console output, with retries, and with a lock where stages could conflict.

With a SQLite address the database is created on first use (its migrations take a second or two) and artifacts go to
`artifacts` beside it; with an http address the server has both. Accepted: the lock belongs to this checkout, so two
machines that start the same recipe and commit at the same moment on one server can create two parent runs.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from components import store
from components.imports import without_collector
from components.params import TrackingParams
from components.redaction import redacted

if TYPE_CHECKING:
    from mlflow import MlflowClient

T = TypeVar("T")

_SQLITE = "sqlite:///"
_UNREACHABLE = re.compile(r"API request to \S+ failed with (?:timeout )?exception")
"""What MLflow says if no server answers. Of an answer that is an error it says `failed with error code`."""
_BUSY_WAITS_S = (0.2, 1.0, 5.0)
"""Seconds between attempts on a locked SQLite file; MLflow waits up to 20 s in each attempt."""


class TrackingError(RuntimeError):
    """MLflow lacks something that it should have. The message says what to do."""


@dataclass(frozen=True)
class Backend:
    """A connection to one experiment."""

    client: MlflowClient
    uri: str
    experiment_id: str


def connect(tracking: TrackingParams) -> Backend:
    """Connect to the tracking store; create it and its experiment if they are missing."""
    disable_background_work()
    with without_collector():
        import mlflow
        from mlflow import MlflowClient

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    uri = _absolute(tracking.tracking_uri)
    mlflow.set_tracking_uri(uri)  # traces use only this global setting
    with exclusive():
        with without_collector():  # it imports the store of the URI
            client = with_retries(lambda: MlflowClient(uri))
        experiment = with_retries(lambda: client.get_experiment_by_name(tracking.experiment))
        if experiment is None:
            location = _artifacts(uri)
            experiment_id = with_retries(
                lambda: client.create_experiment(tracking.experiment, artifact_location=location)
            )
        elif experiment.lifecycle_stage != "active":
            raise TrackingError(
                f"experiment {tracking.experiment!r} was deleted in MLflow; run `mlflow experiments restore "
                f"--experiment-id {experiment.experiment_id}` or set another tracking.experiment"
            )
        else:
            experiment_id = experiment.experiment_id
    return Backend(client, uri, experiment_id)


def disable_background_work() -> None:
    """Disable telemetry, progress bars, links (they have the server's password) and the background exporter. Must run
    before the first import of MLflow."""
    os.environ.update(
        MLFLOW_DISABLE_TELEMETRY="true",
        MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR="false",
        MLFLOW_ENABLE_ASYNC_TRACE_LOGGING="false",
        MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT="true",
    )


@contextmanager
def exclusive() -> Iterator[None]:
    """Lock out other processes of this checkout. The kernel releases the lock when the process ends in any way."""
    path = store.STATE / "state" / "pipeline" / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def with_retries(call: Callable[[], T]) -> T:
    """Call MLflow; if another process locks the SQLite file, wait and retry.

    Raises:
        TrackingError: the file is still locked after a minute or more, or damaged; a server is out of reach, or wants a
            password; or MLflow's own error has a password in it.
    """
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import DatabaseError

    for wait in (*_BUSY_WAITS_S, None):
        try:
            return call()
        except (MlflowException, DatabaseError) as error:
            if any(text in str(error) for text in ("file is not a database", "disk image is malformed")):
                raise TrackingError(
                    "the MLflow database is damaged: restore its file from a copy, or move it away and run the stage "
                    "again, which makes a new one"
                ) from error
            if "error code 401" in str(error) or "not authenticated" in str(error).lower():
                raise TrackingError(
                    "the MLflow server wants a password, or has another one: set MLFLOW_TRACKING_USERNAME and "
                    "MLFLOW_TRACKING_PASSWORD"
                ) from error
            if _UNREACHABLE.search(str(error)):
                raise TrackingError(
                    f"the MLflow server is out of reach: start it, or correct tracking.tracking_uri ({_said(error)})"
                ) from None
            if redacted(str(error)) != str(error):  # a kept cause would be printed with its password
                raise TrackingError(_said(error)) from None
            if "database is locked" not in str(error):
                raise
            if wait is None:
                raise TrackingError(
                    "the MLflow database stays locked; end the process that writes to it, then run the stage again, "
                    "which resumes"
                ) from error
            time.sleep(wait)
    raise AssertionError("unreachable")


def _said(error: Exception) -> str:
    """The first line of an error, without passwords."""
    return redacted(str(error)).partition("\n")[0]


def _absolute(uri: str) -> str:
    """An absolute address: MLflow caches connections by address, so a relative one breaks if the directory changes."""
    return _SQLITE + str(Path(uri.removeprefix(_SQLITE)).resolve()) if uri.startswith(_SQLITE) else uri


def _artifacts(uri: str) -> str | None:
    """The artifact folder beside a SQLite file; None for a server, which has its own."""
    return (Path(uri.removeprefix(_SQLITE)).parent / "artifacts").as_uri() if uri.startswith(_SQLITE) else None
