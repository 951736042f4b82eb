"""A study in MLflow: one parent run with the effects and the page, and a child per finished run with its curves.

A study that is resumed logs to its former parent. A child with the same figures stays; one whose run gave other figures
since, because the code changed, is replaced, and one whose run is no longer finished is deleted. A metric of the parent
that has no value any more becomes NaN, because MLflow deletes no metrics.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from components import store
from components.params import TrackingParams
from components.tracking.backend import Backend, connect, exclusive, with_retries
from components.tracking.flat import flatten, numbers
from components.tracking.pipeline import COMMIT, NAME, PARENT, log_params, search

STUDY, RUN, SIGNATURE = "waymark.study", "waymark.study.run", "waymark.study.signature"
_METRICS_PER_BATCH = 1000


@dataclass(frozen=True)
class StudyChild:
    """One finished run; `curves` are (step, value) by name."""

    name: str
    params: Mapping[str, object]
    figures: Mapping[str, object]
    curves: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyParent:
    """The study. `signature` stands for its definition: a study that is defined anew gets a new parent."""

    name: str
    signature: str
    params: Mapping[str, object]
    figures: Mapping[str, object]
    complete: bool
    commit: str | None
    files: Sequence[Path] = ()


def log_study(tracking: TrackingParams, study: StudyParent, children: Sequence[StudyChild]) -> str:
    """Log a study with its finished runs; returns the parent's run id."""
    backend = connect(tracking)
    client = backend.client
    with exclusive():
        parent = _open(backend, {STUDY: study.name, SIGNATURE: study.signature}, study.name, study.params, study.commit)
        for child in children:
            place = {RUN: child.name, PARENT: parent}
            signature = {SIGNATURE: store.digest(repr(child.figures), repr(child.curves))}
            if search(backend, place | signature, status="FINISHED") is None:
                if (former := search(backend, place)) is not None:
                    with_retries(partial(client.delete_run, former.info.run_id))
                run_id = _open(backend, place | signature, child.name, child.params, study.commit)
                _log_metrics(backend, run_id, child.figures, child.curves)
                with_retries(partial(client.set_terminated, run_id, "FINISHED"))
        _delete_others(backend, parent, {child.name for child in children})
        _log_metrics(backend, parent, study.figures, {})
        _log_metrics(backend, parent, _without_value(backend, parent, study.figures), {})
        for file in study.files:
            with_retries(partial(client.log_artifact, parent, str(file)))
        with_retries(lambda: client.set_terminated(parent, "FINISHED" if study.complete else "FAILED"))
    return parent


def _open(
    backend: Backend, tags: Mapping[str, str], name: str, params: Mapping[str, object], commit: str | None
) -> str:
    """The run with these tags: the one that is there, or a new one."""
    run = search(backend, tags)
    if run is None:
        more = {NAME: name, **({COMMIT: commit} if commit else {})}
        run = with_retries(lambda: backend.client.create_run(backend.experiment_id, tags={**tags, **more}))
    log_params(backend, run.info.run_id, flatten(params), run.data)
    return run.info.run_id


def _delete_others(backend: Backend, parent: str, names: Collection[str]) -> None:
    """Delete the children of runs with other names, which gave a result before and have none now."""
    where = f"tags.`{PARENT}` = '{parent}'"
    for run in with_retries(lambda: backend.client.search_runs([backend.experiment_id], where)):
        if run.data.tags.get(RUN) not in names:
            with_retries(partial(backend.client.delete_run, run.info.run_id))


def _without_value(backend: Backend, run_id: str, figures: Mapping[str, object]) -> dict[str, float]:
    """NaN for each metric that the run has and the figures lack."""
    logged = with_retries(lambda: backend.client.get_run(run_id)).data.metrics
    present = {name for name, _ in numbers(figures)}
    return {name: math.nan for name, value in logged.items() if name not in present and not math.isnan(value)}


def _log_metrics(
    backend: Backend,
    run_id: str,
    figures: Mapping[str, object],
    curves: Mapping[str, Sequence[tuple[float, float]]],
) -> None:
    from mlflow.entities import Metric

    now_ms = int(time.time() * 1000)
    metrics = [Metric(name, value, now_ms, 0) for name, value in numbers(figures)]
    metrics += [Metric(name, value, now_ms, round(step)) for name, points in curves.items() for step, value in points]
    for first in range(0, len(metrics), _METRICS_PER_BATCH):
        batch = metrics[first : first + _METRICS_PER_BATCH]
        with_retries(partial(backend.client.log_batch, run_id, metrics=batch))
