"""`waymark study`: runs the arms of a study with every seed, resumes what was interrupted, and has the page drawn.

1. `waymark study FILE --plan` validates the study and prints its runs with their recipes.
2. Every run has a folder (`flows.study_folders`), in which DVC says which stages are stale (`flows.study_plan`).
3. The stages of each run are brought up to date by crash-safe `dvc repro`, run after run: first the base with every
   seed, then the arms. Of two runs that would compute the same stage at the same time, one waits and gets the result
   from the run cache.
4. `waymark study FILE --page` compares the finished runs.

A stage that was killed is run once more and resumes from its journal. A stage that fails by itself ends its run, and
the other runs go on, except those that share the failed stage. A study that is started again continues: what is up to
date is not run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from components import store
from flows import prerequisites, process
from flows.crash_safe_dvc import LOGS, InfrastructureFailed, Outcome, StageFailed, repro
from flows.placement import handover
from flows.study_folders import STUDIES, Checkout, NoCheckout, OutOfReach, StudyBusy, folder_of, locked, prepare
from flows.study_plan import ImpossibleStudy, RunPlan, StudyRuns, as_json, describe, make_plan

INTERRUPTED = 130
RUNS = "runs.json"


@dataclass
class RunState:
    """How far a run is: `finished`, `failed`, `blocked` by another run's failure, or `unfinished`.

    `recipe` is the digest of the params.yaml that the run had, `commit` that of the project when the run was finished,
    as `handover.commit` gives it, and `stage` is the one that failed.
    """

    state: str = "unfinished"
    recipe: str = ""
    stage: str = ""
    log: str = ""
    error: str = ""
    commit: str = ""


@dataclass
class StudyRunner:
    """Brings the runs of one study up to date, and records every stage in `events.jsonl` and every run in `runs.json`
    of the study's folder."""

    plans: Sequence[RunPlan]
    folder: Path
    commit: str = ""
    """Of the project's files, which the folders of the runs have."""
    states: dict[str, RunState] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._stage_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._failed: dict[str, str] = {}
        former = self._commits()
        for plan in self.plans:
            state = RunState("unfinished" if plan.due else "finished", store.digest(plan.run.params))
            if not plan.due:
                state.commit = former.get((plan.run.name, state.recipe), "")
            self.states[plan.run.name] = state
        self._write()

    def run(self, side_by_side: int) -> None:
        """Run everything that is due, `side_by_side` runs at once.

        Raises:
            KeyboardInterrupt: the process was told to stop; all stages have ended.
        """
        process.allow()
        with process.stopped_by_signals(on_stop=lambda: None), ThreadPoolExecutor(side_by_side) as pool:
            futures = [pool.submit(self._bring_up_to_date, plan) for plan in self.plans if plan.due]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                process.stop_all()
                raise
        if process.stopping():
            raise KeyboardInterrupt("the study was stopped")

    def _bring_up_to_date(self, plan: RunPlan) -> None:
        name = plan.run.name
        for stage in plan.stages:
            if stage not in plan.due:
                continue
            if process.stopping():
                return
            signature = plan.signatures[stage]
            with self._lock:
                stage_lock = self._stage_locks[signature]
            with stage_lock:
                if signature in self._failed:
                    self._end(name, RunState("blocked", stage=stage, error=f"failed in {self._failed[signature]}"))
                    return
                try:
                    self._repro(plan, stage)
                except process.Stopped:
                    return
                except (StageFailed, InfrastructureFailed, process.Busy) as error:
                    self._failed[signature] = name
                    log = str(plan.folder / LOGS / f"{stage}.log")
                    self._end(name, RunState("failed", stage=stage, log=log, error=str(error)))
                    return
        self._end(name, RunState("finished", commit=self.commit))

    def _repro(self, plan: RunPlan, stage: str) -> None:
        _say(f"{plan.run.name}: {stage} ...")
        start = time.time()
        try:
            outcome = repro(stage, plan.folder)
        except InfrastructureFailed as error:
            if process.stopping():
                raise process.Stopped(str(error)) from error
            _say(f"{plan.run.name}: {stage} was killed; it resumes")
            outcome = repro(stage, plan.folder)
        seconds = round(time.time() - start, 1)
        event = {"at": round(time.time(), 1), "run": plan.run.name, "stage": stage, "seconds": seconds}
        with self._lock:
            append(self.folder / "events.jsonl", event | {"outcome": str(outcome)})
        text = "from an earlier run" if outcome is Outcome.RESTORED else str(outcome)
        _say(f"{plan.run.name}: {stage}: {text}, {seconds:.0f} s")

    def _end(self, name: str, state: RunState) -> None:
        with self._lock:
            state.recipe = self.states[name].recipe
            self.states[name] = state
            self._write()
        if state.state == "failed":
            _say(f"{name} FAILED: {state.error}")

    def _commits(self) -> dict[tuple[str, str], str]:
        """The commits of finished runs by name and recipe, as the last start left them; none if they cannot be read."""
        try:
            states = store.read_json(self.folder / RUNS)
            return {(name, state["recipe"]): state["commit"] for name, state in states.items() if state.get("commit")}
        except (OSError, ValueError, AttributeError, KeyError):
            return {}

    def _write(self) -> None:
        store.write_json(self.folder / RUNS, {name: asdict(state) for name, state in self.states.items()})


def append(path: Path, event: Mapping[str, object]) -> None:
    """Add an event to a journal, on a line of its own also if a kill has cut the last one."""
    with path.open("ab+") as file:
        is_cut = file.tell() > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
        file.write(("\n" * is_cut + json.dumps(event) + "\n").encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a study; exit status 1 if the study is wrong or a run failed, 130 if it was stopped."""
    parser = argparse.ArgumentParser(prog="waymark study", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("study")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--side-by-side", type=int, default=1)
    options = parser.parse_args(arguments)
    root = Path.cwd()
    try:
        study = StudyRuns.parse(_waymark(options.study, "--plan"))
        with locked(root, study.name):
            process.own_children(root)
            return _run(study, root, options)
    except _Refused as error:
        return error.status
    except (StudyBusy, ImpossibleStudy, NoCheckout, OutOfReach, StageFailed, process.Busy) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        _say("Stopped. The same command continues.")
        return INTERRUPTED


def _run(study: StudyRuns, root: Path, options: argparse.Namespace) -> int:
    checkout = Checkout.of(root)
    folders = {run.name: folder_of(root, study.name, run.name) for run in study.runs}
    for run in study.runs:
        prepare(checkout, folders[run.name], run.params)
    plans = make_plan(study, folders)
    if options.dry_run:
        print(json.dumps(as_json(plans), indent=1) if options.json else "\n".join(describe(plans)))
        return 0
    require_all(plans)
    runner = StudyRunner(plans, root / STUDIES / study.name, handover.commit(root))
    waiting = sum(1 for plan in plans if plan.due)
    _say(f"study {study.name}: {len(plans)} runs, {waiting} with stages to run")
    runner.run(options.side_by_side)
    page = _waymark(options.study, "--page", *(["--json"] if options.json else []))
    print(page, end="")
    broken = {name: state for name, state in runner.states.items() if state.state != "finished"}
    for name, state in broken.items():
        _say(f"{name}: {state.state} at {state.stage}" + (f"; log: {state.log}" if state.log else f": {state.error}"))
    return 1 if broken else 0


def require_all(plans: Sequence[RunPlan]) -> None:
    """Require what the stages of all runs need, before the first of them works (`prerequisites`).

    Raises:
        StageFailed: something is missing; the message names the first run that needs it.
    """
    for plan in plans:
        try:
            prerequisites.require(plan.folder, plan.stages, plan.due)
        except StageFailed as error:
            raise StageFailed(f"{plan.run.name}: {error}") from error


class _Refused(RuntimeError):
    """A command of ours failed and has printed why."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _waymark(study: str, *options: str) -> str:
    """The output of `waymark study`. Its errors go to the terminal."""
    command = [sys.executable, "-m", "components.cli.main", "study", study, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise _Refused(done.returncode)
    return done.stdout


def _say(text: str) -> None:
    """Progress goes to stderr, so that `--json` has stdout for itself."""
    with contextlib.suppress(BrokenPipeError):
        print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
