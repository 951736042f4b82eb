"""The MLflow run of a stage: opening it, logging to it, closing it with its status.

Accepted: a point that was logged just before a kill and is computed again with another value appears twice at its step;
the later one counts. A stage that is killed and never run again stays RUNNING.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from components.params import Params
from components.records import Trajectory, Verdict
from components.tracking.backend import Backend, connect, exclusive, with_retries
from components.tracking.datasets import log_dataset
from components.tracking.evaluation_datasets import log_evaluation_dataset
from components.tracking.flat import flatten, numbers
from components.tracking.pipeline import (
    COMMIT,
    RECIPE,
    STAGE,
    close_if_done,
    git_commit,
    log_params,
    nested_run,
    parent_run,
)
from components.tracking.registry import interface_tags, promote, register, require_champion
from components.tracking.traces import log_episodes, log_traces

_METRICS_PER_BATCH = 1000
_TABLES = "mlflow.loggedArtifacts"
"""The tag from which MLflow's UI takes its list of tables."""


@contextmanager
def stage_run(
    params: Params, stage: str, key: str, state: Path, sections: Sequence[str] | None = None, in_pipeline: bool = True
) -> Iterator[StageRun]:
    """Open the stage's run, or resume the one of a killed process; close it with its status at the end.

    Args:
        params: the recipe; all of it becomes the parent's parameters. stage: name as in `dvc.yaml`, such as
        `train_rl@short`. key: hash of the stage's inputs and parameters. state: the stage's directory that survives
        kills, for the run's id. sections: dotted names of the recipe's sections that the stage uses (`["seed", "rl"]`);
        None logs the whole recipe. in_pipeline: whether the pipeline fails if this fails; False for what is no stage of
        `dvc.yaml`, such as a benchmark.
    """
    backend = connect(params.tracking)
    recipe = flatten(params.model_dump(mode="json"))
    used = recipe if sections is None else {name: value for name, value in recipe.items() if _within(name, sections)}
    with exclusive():
        parent = parent_run(backend, params)
        run, resumed = nested_run(backend, parent, stage, key, state, in_pipeline)
    tracked = StageRun(backend, params, stage, run.info.run_id, parent, resumed)
    log_params(backend, run.info.run_id, used, run.data)
    try:
        yield tracked
    except Exception:
        _close(tracked, "FAILED")
        raise
    except BaseException:
        _close(tracked, "KILLED")
        raise
    _close(tracked, "FINISHED")


@dataclass
class StageRun:
    """The MLflow run of one stage. `resumed`: an earlier process created it."""

    backend: Backend
    recipe: Params
    stage: str
    run_id: str
    parent_id: str
    resumed: bool
    _logged: dict[str, set[tuple[int, str]]] = field(default_factory=dict)
    """Points of this run by metric: those that an earlier process logged, if the run is resumed, and ours at step 0."""
    _curves: set[str] = field(default_factory=set)
    """Metrics that this process logged at a step."""
    _figures: set[str] = field(default_factory=set)
    """Metrics that this process logged without a step."""

    def metrics(self, values: Mapping[str, object], step: int | None = None) -> None:
        """Log the numbers in a possibly nested mapping, under dotted names; lists of numbers get their index.

        Other values are left out. A run does not log a point of an earlier process again, nor a figure without a step
        of which it has a curve: the figure would be the curve's point 0.
        """
        from mlflow.entities import Metric

        timestamp_ms, index = int(time.time() * 1000), step or 0
        named = dict(numbers(values))
        if step is None:
            self._figures |= named.keys()
        new = [
            Metric(name, value, timestamp_ms, index)
            for name, value in named.items()
            if not self._has(name, index, value) and not (step is None and self._is_curve(name))
        ]
        if step is None:
            for metric in new:  # a value may come back: only the last one is known
                points = self._points(metric.key)
                points -= {point for point in points if point[0] == index}
                points.add((index, _stored(metric.value)))
        else:
            self._curves.update(metric.key for metric in new)
        for first in range(0, len(new), _METRICS_PER_BATCH):
            batch = new[first : first + _METRICS_PER_BATCH]
            with_retries(partial(self.backend.client.log_batch, self.run_id, metrics=batch))

    def result(self, values: Mapping[str, object]) -> None:
        """Log the figures with which the stage ends, as `metrics` does.

        A run that is resumed may have ended before, with figures that are not given any more, such as the count of a
        failure that did not come again. They get NaN, because MLflow deletes no metric. A decision stays: a later try
        makes none again.
        """
        self.metrics(values)
        if self.resumed:
            logged = with_retries(lambda: self.backend.client.get_run(self.run_id)).data.metrics
            outdated = [name for name, value in logged.items() if name not in self._figures and not math.isnan(value)]
            left = [name for name in outdated if not name.startswith("decision.") and not self._is_curve(name)]
            self.metrics(dict.fromkeys(left, math.nan))

    def params(self, values: Mapping[str, object]) -> None:
        """Log parameters under dotted names. MLflow refuses to change a logged parameter."""
        log_params(self.backend, self.run_id, flatten(values))

    def tags(self, values: Mapping[str, str]) -> None:
        """Set tags of the run."""
        from mlflow.entities import RunTag

        tags = [RunTag(key, str(value)) for key, value in values.items()]
        with_retries(lambda: self.backend.client.log_batch(self.run_id, tags=tags))

    def remove_tag(self, key: str) -> None:
        """Delete a tag that an earlier try may have set."""
        client = self.backend.client
        if key in with_retries(lambda: client.get_run(self.run_id)).data.tags:
            with_retries(lambda: client.delete_tag(self.run_id, key))

    def dataset(self, path: Path, context: str) -> None:
        """Log a table or directory as an input; its digest is DVC's md5."""
        log_dataset(self.backend, self.run_id, path, context)

    def artifact(self, path: Path) -> None:
        """Copy a file or directory to the run's artifacts."""
        client = self.backend.client
        if path.is_dir():
            with_retries(lambda: client.log_artifacts(self.run_id, str(path), path.name))
        else:
            with_retries(lambda: client.log_artifact(self.run_id, str(path)))

    def table(self, name: str, columns: Mapping[str, Sequence[object]]) -> None:
        """Log a table, which MLflow's UI shows; it replaces an earlier one of the same name.

        `MlflowClient.log_table` would append to the earlier one.
        """
        rows = [list(row) for row in zip(*columns.values(), strict=True)]
        file, known = f"{name}.json", self._tables()
        with_retries(lambda: self.backend.client.log_dict(self.run_id, {"columns": list(columns), "data": rows}, file))
        if (entry := {"path": file, "type": "table"}) not in known:
            self.tags({_TABLES: json.dumps([*known, entry])})

    def traces(self, trajectories: Iterable[Trajectory], verdicts: Iterable[Verdict]) -> None:
        """Log `tracking.trace_samples` trajectories as traces, with every outcome if possible."""
        log_traces(self.backend, self.run_id, self.stage, trajectories, verdicts, self.recipe.tracking.trace_samples)

    def evaluation(self, trajectories: Sequence[Trajectory], verdicts: Sequence[Verdict]) -> None:
        """Mark the run as an evaluation of a dataset and log every episode, `tracking.trace_samples` with their turns.

        MLflow shows the run under "Evaluation runs" with a row per episode, and the tasks under "Datasets".
        """
        from mlflow.utils.mlflow_tags import MLFLOW_RUN_TYPE, MLFLOW_RUN_TYPE_GENAI_EVALUATE

        self.tags({MLFLOW_RUN_TYPE: MLFLOW_RUN_TYPE_GENAI_EVALUATE})
        log_evaluation_dataset(self.backend, self.run_id, [trajectory.task for trajectory in trajectories])
        log_episodes(self.backend, self.run_id, self.stage, trajectories, verdicts, self.recipe.tracking.trace_samples)

    def register(self, path: Path, name: str, alias: str = "candidate") -> int:
        """Register a model directory and move the alias to it; equal content gets the same version.

        Returns:
            The version.
        """
        tags = {
            STAGE: self.stage,
            RECIPE: self.recipe.name,
            **interface_tags(name, self.recipe),
            **({COMMIT: commit} if (commit := git_commit()) else {}),
        }
        version = register(self.backend, self.run_id, path, name, alias, tags)
        self.tags({f"waymark.registered.{name}": str(version)})
        return version

    def decision(
        self, name: str, version: int, promoted: bool, evidence: Mapping[str, object], champion: int | None
    ) -> None:
        """Log whether a version becomes the champion, with the evidence; then move the alias if it does.

        A process that is killed in between has logged its decision. Once the alias is moved, none is made again.

        Args:
            champion: the version with which it was compared; None if there was no champion.

        Raises:
            ChampionChanged: another version has become the champion meanwhile.
        """
        if promoted:
            require_champion(self.backend, name, version, champion)
        decision = "is the champion now" if promoted else "did not become the champion"
        self.tags({f"waymark.decision.{name}": f"version {version} {decision}: {json.dumps(evidence)}"})
        self.metrics({"decision": {name: {"promoted": promoted, **evidence}}})
        if promoted:
            promote(self.recipe, name, version, evidence, champion)

    def _tables(self) -> list[dict[str, str]]:
        run = with_retries(lambda: self.backend.client.get_run(self.run_id))
        return json.loads(run.data.tags.get(_TABLES, "[]"))

    def _points(self, name: str) -> set[tuple[int, str]]:
        if name not in self._logged:
            client, history = self.backend.client, []
            if self.resumed:
                history = with_retries(lambda: client.get_metric_history(self.run_id, name))
            self._logged[name] = {(point.step, _stored(point.value)) for point in history}
        return self._logged[name]

    def _has(self, name: str, step: int, value: float) -> bool:
        return (step, _stored(value)) in self._points(name)

    def _is_curve(self, name: str) -> bool:
        return name in self._curves or any(step for step, _ in self._points(name))


def _close(run: StageRun, status: str) -> None:
    with exclusive():
        with_retries(lambda: run.backend.client.set_terminated(run.run_id, status))
        close_if_done(run.backend, run.parent_id)


def _stored(value: float) -> str:
    """A value as MLflow keeps it, in a form that equals itself for NaN, too: the largest float stands for infinity."""
    largest = sys.float_info.max
    return repr(value if math.isnan(value) else min(max(value, -largest), largest))


def _within(name: str, sections: Sequence[str]) -> bool:
    return any(name == section or name.startswith(f"{section}.") for section in sections)
