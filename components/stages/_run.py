"""What every stage has: its parameters, a place that survives a crash, progress, a tracked run, a result file."""

from __future__ import annotations

import fcntl
import json
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from components import quality, store, tracking
from components.params import Params, RolloutParams, TrainingParams, VLLMParams, load
from components.records import Trajectory, Verdict

if TYPE_CHECKING:
    import pandas as pd

RESULTS = Path("reports/stages")
DOCS = Path("reports/data_docs")


class StageBusy(RuntimeError):
    """Two processes on the same work: one was left over from a killed run, or two runs were started."""


class StageRun:
    """A running stage."""

    def __init__(
        self, name: str, params: Params, key: str, state: Path, tracker: tracking.StageRun, clock: _Clock
    ) -> None:
        self.name = name
        self.params = params
        self.key = key
        self.state = state
        self.tracker = tracker
        self._clock = clock
        self._result: dict[str, Any] = {}
        self._printed = 0.0
        self.complete = False
        """The stage itself has said that all of it is done."""
        self.is_partial = False
        """The stage ends well with work left over: its state goes on next time, whatever the code is then."""

    @property
    def seconds(self) -> float:
        """Seconds at work so far, over all tries."""
        return self._clock.seconds

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Tell how far the stage is: a line at most every two seconds, and a file that the Prefect flow shows."""
        now = time.time()
        if done < total and now - self._printed < 2:
            return
        self._printed = now
        self.complete = done >= total
        self._clock.save()
        value = {"stage": self.name, "done": done, "total": total, "message": message, "updated": now}
        path = store.STATE / "progress" / f"{self.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(value))
        partial.replace(path)
        print(f"{self.name}: {done:.4g}/{total:.4g} {message}", flush=True)

    def metrics(self, values: dict[str, float], step: int | None = None) -> None:
        """Log metrics to the stage's MLflow run."""
        self.tracker.metrics(values, step)

    def traces(self, trajectories: Iterable[Trajectory], verdicts: Iterable[Verdict]) -> None:
        """Log a sample of the trajectories as MLflow traces."""
        self.tracker.traces(trajectories, verdicts)

    def check(self, suite: str, frame: pd.DataFrame, **context: Any) -> None:
        """Hold a table to its Great Expectations suite; a failure fails the stage."""
        quality.check(suite, frame, docs_dir=DOCS / self.name, **context)

    def result(self, values: dict[str, Any]) -> None:
        """Add to `reports/stages/<stage>.json`, which is written when the stage ends well."""
        self._result.update(values)

    def finish(self) -> None:
        """Write the stage's result, with its wall time, the spans in which it was at work (Unix seconds), and the
        pipeline run that it was made in."""
        times = {"wall_s": round(self._clock.seconds, 2), "spans": self._clock.spans}
        made = {"stage": self.name, "pipeline": self.tracker.parent_id, **times}
        store.write_json(RESULTS / f"{self.name}.json", {**made, **self._result})
        self.tracker.metrics(self._result)


def local_model(base: str) -> list[Path]:
    """The directory of a base model as an input; nothing for a Hugging Face name, which the parameters hold."""
    return [Path(base)] if Path(base).exists() else []


def code() -> str:
    """Digest of the code that this process runs: our modules that are loaded, and the scripts beside them."""
    home = Path(store.__file__).parent
    loaded = {Path(file) for module in [*sys.modules.values()] if (file := getattr(module, "__file__", None))}
    files = {file for file in loaded if file.is_relative_to(home)}
    scripts = {script for file in files for script in file.parent.glob("*.js")}
    return store.digest(*sorted(files | scripts))


@contextmanager
def stage(name: str, inputs: list[Path] | None = None, occasion: str = "") -> Iterator[StageRun]:
    """Run a stage. Its state directory belongs to these inputs and parameters: run again, it goes on where it stopped.

    What was cut short goes on even if the code has changed since, so that a bug can be mended without losing the hours
    before it. What was finished by other code is forgotten: DVC asks for it anew because the code changed.
    Wall time adds up over interrupted tries, to two seconds if one was killed. `occasion` tells runs apart that shall
    not go on from one another though their inputs are the same, such as two nights.

    Raises:
        RecipeError: before any work starts.
        StageBusy: another process works on the same.
    """
    params = load()
    missing = [str(path) for path in inputs or [] if not path.exists()]
    if missing:
        raise FileNotFoundError(f"{name} needs {', '.join(missing)}; run `dvc repro {name}`, which makes them first")
    key = store.digest(name, occasion, _deciding(params), *(inputs or []))
    state = store.state_dir(name, key)
    lock = (state / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise StageBusy(
            f"{name} is already running with these inputs (its state is {state}); wait for it or end it"
        ) from error
    finished, mine = state / "finished", code()
    if finished.exists() and finished.read_text() != mine:
        _forget(state)
    clock = _Clock(state / "spans.json")
    with tracking.stage_run(params, name, key, state) as tracker:
        run = StageRun(name, params, key, state, tracker, clock)
        for table in (path for path in inputs or [] if path.suffix == ".parquet"):
            tracker.dataset(table, "input")
        run.progress(0, 1, "started")
        try:
            yield run
        finally:
            clock.save()
        run.finish()
        if not run.complete:
            run.progress(1, 1, "done")
    if run.is_partial:
        finished.unlink(missing_ok=True)
    else:
        finished.write_text(mine)
    lock.close()


def _deciding(params: Params) -> Params:
    """The recipe without what decides nothing: where browsers, trainers and servers run, and the limits of endpoints,
    which somebody raises to go on."""
    served = VLLMParams(engine=params.inference.vllm.engine)
    inference = params.inference.model_copy(update={"vllm": served})
    teacher, judge = params.teacher, params.judge
    if teacher.endpoint is not None:
        teacher = teacher.model_copy(update={"endpoint": teacher.endpoint.without_limits()})
    if judge.endpoint is not None:
        voters = [voter.without_limits() for voter in judge.voters]
        judge = judge.model_copy(update={"endpoint": judge.endpoint.without_limits(), "voters": voters})
    return params.model_copy(
        update={
            "rollout": RolloutParams(),
            "training": TrainingParams(),
            "inference": inference,
            "teacher": teacher,
            "judge": judge,
        }
    )


class _Clock:
    """When the stage was at work, earlier tries included. A try begins with its process: imports are seconds too."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._earlier: list[list[float]] = store.read_json(path) if path.exists() else []
        self._began = psutil.Process().create_time()
        self._offset = time.time() - time.monotonic()

    @property
    def spans(self) -> list[list[float]]:
        """Begin and end of each try, in Unix seconds."""
        end = self._offset + time.monotonic()
        return [*self._earlier, [round(self._began, 2), round(end, 2)]]

    @property
    def seconds(self) -> float:
        return sum(end - begin for begin, end in self.spans)

    def save(self) -> None:
        store.write_json(self._path, self.spans)


def _forget(state: Path) -> None:
    """Empty a state directory, the lock that we hold apart."""
    for path in state.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "lock":
            path.unlink()
