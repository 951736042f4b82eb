"""The run of a stage: its parameters, a state directory that survives a crash, progress, an MLflow run, a result."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import psutil
import yaml

from components import quality, store, tracking
from components.params import Params, deciding, load, value_at
from components.pipeline import kept_checkpoint, stage_code
from components.pipeline.closed_output import say
from components.records import Trajectory, Verdict
from components.worlds import worlds_of

if TYPE_CHECKING:
    import pandas as pd

RESULTS = Path("reports/stages")
DOCS = Path("reports/data_docs")

WORLD_SETTINGS = Path("data/tasks/worlds.json")
"""What episodes depend on beside the tasks, by world (`World.episode_settings`). Every stage that rolls out reads it:
rollouts are stale when it changes, not when a number of tasks does."""

JUDGEMENTS = {
    "quality": None,
    "evaluation": ("max_aborted", "bootstrap", "promotion_min_tasks"),
}
"""Keys by section (None: all) that decide whether a stage fails, and what is said of what it made. They are left out of
what its state belongs to, so that no episode is played again because of them."""

SAVED_EVERY_S = 2.0
"""So much wall time of a killed try is lost at most."""


class StageBusy(RuntimeError):
    """Another process works on the same stage: it was left over from a killed run, or two runs were started."""


class RecipeChanged(RuntimeError):
    """params.yaml has other values for a stage than those with which it ran."""


class StageRun:
    """A running stage. `stage` makes one."""

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
        self._progress_lock = threading.Lock()
        self.complete = False
        """The last call of `progress` reported the end."""
        self.is_partial = False
        """The stage ends without an error but with work left: the state is kept even if the code changes."""
        self.checkpoint: Path | None = None
        """The file in the state of a stage that does not keep its work, which is deleted when DVC has recorded what
        the stage made. If the end of the stage fails, or DVC after it, the next run needs it."""

    @property
    def seconds(self) -> float:
        """Wall time in seconds so far, earlier tries included."""
        return self._clock.seconds

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Report progress: a line at most every two seconds, and a file that the Prefect flow shows."""
        with self._progress_lock:  # updates and rollouts report from threads of their own
            self._report_progress(done, total, message)

    def _report_progress(self, done: float, total: float, message: str) -> None:
        now = time.time()
        if done < total and now - self._printed < 2:
            return
        self._printed = now
        self.complete = done >= total
        value = {"stage": self.name, "done": done, "total": total, "message": message, "updated": now}
        path = store.STATE / "progress" / f"{self.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}.part")  # benchmarks of two models may run at once
        partial.write_text(json.dumps(value))
        partial.replace(path)
        say(f"{self.name}: {done:.4g}/{total:.4g} {message}")

    def metrics(self, values: Mapping[str, object], step: int | None = None) -> None:
        """Log the numbers among some figures to the stage's MLflow run."""
        self.tracker.metrics(values, step)

    def traces(self, trajectories: Iterable[Trajectory], verdicts: Iterable[Verdict]) -> None:
        """Log a sample of the trajectories as MLflow traces."""
        self.tracker.traces(trajectories, verdicts)

    def evaluation(self, trajectories: Sequence[Trajectory], verdicts: Sequence[Verdict]) -> None:
        """Log all episodes to MLflow as the rows of an evaluation."""
        self.tracker.evaluation(trajectories, verdicts)

    def check(self, suite: str, frame: pd.DataFrame, **context: Any) -> None:
        """Check a table with its Great Expectations suite; a failed check fails the stage."""
        quality.check(suite, frame, docs_dir=DOCS / self.name, **context)

    def result(self, values: dict[str, Any]) -> None:
        """Add values to `reports/stages/<stage>.json`, which is written when the stage ends without an error."""
        self._result.update(values)

    def finish(self) -> None:
        """Write the stage's result with its wall time in seconds, the spans of its tries (Unix seconds) and the id of
        the pipeline's run."""
        times = {"wall_s": round(self._clock.seconds, 2), "spans": self._clock.spans}
        made = {"stage": self.name, "pipeline": self.tracker.parent_id, **times}
        store.write_json(RESULTS / f"{self.name}.json", {**made, **self._result})
        self.tracker.result({"wall_s": times["wall_s"], **self._result})


def local_model(base: str) -> list[Path]:
    """The directory of a base model as an input; empty for a Hugging Face name, which is in the parameters."""
    return [Path(base)] if Path(base).exists() else []


@contextmanager
def stage(
    name: str, inputs: list[Path] | None = None, occasion: str = "", keeps_work: bool = True
) -> Iterator[StageRun]:
    """Run a stage. Its state directory belongs to these inputs and to the keys of the recipe that dvc.yaml names for
    the stage, so a stage that is run again resumes. What is no stage of dvc.yaml depends on the whole recipe.

    An interrupted stage resumes even if the code has changed, so that a bug can be fixed without losing the work before
    it. Files that changed between its first try and its end are named then, and in its result. The state of a stage
    that finished with other code is deleted: DVC runs it again because the code changed. Wall time adds up over
    interrupted tries; of a try that was killed, up to two seconds are lost.

    Args:
        name: of the stage, with its variant: `train_rl@short`.
        inputs: files and directories that the stage reads.
        occasion: separates the states of runs that must not resume one another although their inputs are the same,
            such as two nights.
        keeps_work: whether a run after one that finished uses its work. If not, its time does not count either. A run
            after one whose outputs DVC has not recorded uses `StageRun.checkpoint` in any case.

    Raises:
        RecipeError: the recipe is wrong; raised before any work starts.
        FileNotFoundError: an input is missing.
        StageBusy: another process runs the stage with the same inputs.
        RecipeChanged: params.yaml was changed while the stage ran; raised at its end, and its work is kept.
    """
    params = load()
    key = _key(name, occasion, params, inputs or [])
    state = store.state_dir(name, key)
    kept_checkpoint.delete_recorded()
    lock = _locked(name, state)
    files = stage_code.code_files(worlds_of(params))
    code = stage_code.digests(files)
    finished = state / store.FINISHED
    is_needed = keeps_work or kept_checkpoint.is_kept(state)
    if finished.exists() and (not is_needed or _is_of_other_code(finished, code)):
        _forget(state)
    first = stage_code.of_first_try(state, code)
    clock = _Clock(state / "spans.json")
    keys = _keys_of(name)
    with clock.running(), tracking.stage_run(params, name, key, state, keys, in_pipeline=keys is not None) as tracker:
        run = StageRun(name, params, key, state, tracker, clock)
        for table in (path for path in inputs or [] if path.suffix == ".parquet"):
            tracker.dataset(table, "input")
        run.progress(0, 1, "started")
        yield run
        _require_same_recipe(name, params)
        if changed := stage_code.changed(first, stage_code.digests(files)):
            _tell_changed_code(name, changed, state)
            run.result({"code_changed": changed})
        run.finish()
        if not run.complete:
            run.progress(1, 1, "done")
    if run.is_partial:
        reopen(state)
    else:
        if run.checkpoint is not None:
            kept_checkpoint.end(state, run.checkpoint, RESULTS / f"{name}.json")
        store.write_json(finished, code)
    lock.close()


def reopen(state: Path) -> None:
    """Make a stage's state that of a stage that was cut short, so that the next run goes on from it with any code."""
    (state / store.FINISHED).unlink(missing_ok=True)


@contextmanager
def stopped_stage(name: str, params: Params, inputs: Sequence[Path]) -> Iterator[Path]:
    """The state directory of a stage that was run with these inputs, locked so that the stage cannot start meanwhile.

    Raises:
        FileNotFoundError: an input is missing, or the stage was never run with these inputs.
        StageBusy: the stage is running.
    """
    state = store.STATE / "state" / name / _key(name, "", params, inputs)
    if not state.exists():
        raise FileNotFoundError(
            f"{name} has no state for params.yaml and its inputs as they are now: it was not run with them, or "
            "`waymark clean` removed the state"
        )
    lock = _locked(name, state)
    try:
        yield state
    finally:
        lock.close()


def _key(name: str, occasion: str, params: Params, inputs: Sequence[Path]) -> str:
    """What separates the states of a stage: its parameters and inputs.

    DVC takes an output for that of the recipe in use if the keys that dvc.yaml names for the stage have their values,
    so unfinished work is that of these keys, too: a change of what other stages read loses nothing.
    """
    keys = _keys_of(name)
    missing = [str(path) for path in inputs if not path.exists()]
    if missing:
        command = "dvc repro" if keys is None else f"dvc repro {name}"
        raise FileNotFoundError(f"{name} needs {', '.join(missing)}; run `{command}`, which makes them first")
    recipe = deciding(params)
    for section, left_out in JUDGEMENTS.items():
        values = recipe.pop(section)
        if left_out is not None:
            recipe[section] = {key: value for key, value in values.items() if key not in left_out}
    decisive = recipe if keys is None else {key: value_at(recipe, key) for key in keys}
    return store.digest(name, occasion, json.dumps(decisive), *inputs)


def _require_same_recipe(name: str, params: Params) -> None:
    """Require that the recipe in use has the values with which a stage ran, for the keys that dvc.yaml names for it.

    DVC reads params.yaml after the command of a stage. It would take the outputs for those of the new values, in
    dvc.lock and in its run cache.
    """
    now, then = deciding(load()), deciding(params)
    if changed := [key for key in _keys_of(name) or [] if value_at(now, key) != value_at(then, key)]:
        raise RecipeChanged(
            f"{', '.join(changed)} in params.yaml changed while {name} ran, and DVC would take what it made for the "
            "result of the new values: put the former recipe in use again and run the stage, which goes on from its "
            "work, or run it with the new one"
        )


def _tell_changed_code(name: str, changed: Sequence[str], state: Path) -> None:
    """Say that former code made a part of the outputs, which DVC records as those of the code as it is now."""
    print(
        f"{name}: {', '.join(changed)} changed between the beginning of this stage and its end. DVC records what it "
        f"made as the work of the code as it is now. If the change matters to the result, delete {state} and type "
        f"`dvc repro -f -s {name}`, then `dvc repro`",
        file=sys.stderr,
        flush=True,
    )


def _keys_of(name: str) -> list[str] | None:
    """The dotted keys of the recipe that dvc.yaml names for a stage; None for what is no stage of it."""
    path = Path("dvc.yaml")
    stages = yaml.safe_load(path.read_text(encoding="utf-8"))["stages"] if path.exists() else {}
    stage_name, _, variant = name.partition("@")
    entry = stages.get(stage_name)
    if entry is None:
        return None
    keys = [key for key in entry.get("do", entry).get("params", []) if isinstance(key, str)]
    return [key.replace("${key}", variant) for key in keys]


def _locked(name: str, state: Path) -> IO[str]:
    lock = (state / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise StageBusy(
            f"{name} is already running with these inputs (its state is {state}): wait until it ends, or end it"
        ) from error
    return lock


class _Clock:
    """The times at which the stage ran, earlier tries included.

    A try begins with its process, so imports count; of several runs in one process this holds for the first.
    """

    _is_first = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._earlier: list[list[float]] = json.loads(path.read_text()) if path.exists() else []
        self._began = psutil.Process().create_time() if _Clock._is_first else time.time()
        _Clock._is_first = False
        self._offset = time.time() - time.monotonic()

    @property
    def spans(self) -> list[list[float]]:
        """Begin and end of each try, in Unix seconds."""
        end = self._offset + time.monotonic()
        return [*self._earlier, [round(self._began, 2), round(end, 2)]]

    @property
    def seconds(self) -> float:
        return sum(end - begin for begin, end in self.spans)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write the times down every `SAVED_EVERY_S` seconds, and at the end."""
        ended = threading.Event()

        def save() -> None:
            while not ended.wait(SAVED_EVERY_S):
                with suppress(OSError):  # of a full disk, or of a shared one: the next time may do
                    store.write_json(self._path, self.spans)

        thread = threading.Thread(target=save, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            store.write_json(self._path, self.spans)


def _is_of_other_code(finished: Path, code: Mapping[str, str]) -> bool:
    """Whether a file changed since the stage finished. Two commands that run one stage may load different files, which
    is no change. Files of earlier versions have one digest of all."""
    try:
        former = json.loads(finished.read_text())
    except ValueError:
        return True
    return not isinstance(former, dict) or bool(stage_code.changed(former, code))


def _forget(state: Path) -> None:
    """Empty a state directory, except the lock, which this process holds. The file that says that the stage finished
    goes last: if this process is killed, the rest is not taken for unfinished work."""
    finished = state / store.FINISHED
    for path in state.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in ("lock", finished.name):
            path.unlink()
    finished.unlink(missing_ok=True)
