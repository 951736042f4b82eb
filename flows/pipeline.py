"""The pipeline as a Prefect flow: one task per stage of dvc.yaml, independent ones side by side.

1. Read the DAG and what is stale from DVC, once.
2. Submit a task per stage that waits for the stages it needs. A stage that is neither stale nor downstream of a stale
   one is completed at once as "up to date"; every other is a crash-safe `dvc repro --single-item`.
3. While a stage runs, its progress file becomes a progress artifact; when it is done, its metrics become artifacts.

A stage is tried a second time only if it or dvc was killed: it goes on from its journal. A stage that fails by itself
fails again. Stages that need a failed one are not run; all others are.

Where more stages are ready than may run at once, the longest way to the end goes first (`flows.places`).

Accepted trade-offs: a task is "running" in Prefect while it waits for one of the `side_by_side` places, and the stages
of a project run on the machine of the flow run. Not here: what depends on what (dvc.yaml), what a stage does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger, runtime, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.futures import wait
from prefect.states import Completed
from prefect.task_runners import ThreadPoolTaskRunner
from prefect.utilities.annotations import quote
from rich.console import Console

from flows import graph, process
from flows.board import Board
from flows.crash_safe_dvc import InfrastructureFailed, Outcome, StageFailed, repair, repro
from flows.places import Places
from flows.published import PROGRESS, ProgressArtifact, publish_metrics, read_progress

POLL_S = 1.0
"""Shortest time between two updates of a progress artifact, in seconds."""


class PipelineFailed(RuntimeError):
    """Stages failed. The message names each with the end of its log."""


@flow(name="pipeline", task_runner=ThreadPoolTaskRunner(), validate_parameters=True)
def pipeline(recipe: str | None = None, side_by_side: int = 2) -> dict[str, str]:
    """Bring every stage up to date; returns what became of each (`ran`, `restored`, `up to date`).

    Args:
        recipe: a recipe to put in use first; None runs the params.yaml that is there.
        side_by_side: stages that may run at once on this machine.

    Raises:
        PipelineFailed: a stage failed; the others are done.
    """
    logger = get_run_logger()
    root = Path.cwd()
    if recipe:
        use(recipe)
    for line in repair(root):
        logger.warning(line)
    stages = graph.read(root, with_status=True)
    due = graph.to_run(stages)
    logger.info("%d of %d stages to run: %s", len(due), len(stages), ", ".join(s for s in stages if s in due) or "none")
    process.allow()
    console = Console(quiet=runtime.deployment.id is not None)  # a worker's run is watched in the UI
    with Board(list(stages), console) as board:
        places = Places(side_by_side, stages, due)
        futures: dict[str, Any] = {}
        with process.stopped_by_signals(also=places.let_all_in):
            try:
                for stage in stages.values():
                    futures[stage.name] = run_stage.with_options(name=stage.name, task_run_name=stage.name).submit(
                        quote(stage),
                        stage.name in due,
                        quote(board),
                        quote(places),
                        wait_for=[futures[need] for need in stage.needs],
                    )
                wait(list(futures.values()))
            except BaseException:
                process.stop_all()
                places.let_all_in()
                raise
        if process.stopping():
            raise KeyboardInterrupt("the flow was stopped")  # the signal's own was swallowed on its way
        states = {name: future.state for name, future in futures.items()}
        for name, state in states.items():
            if not state.is_completed() and state.name == "NotReady":
                board.ended(name, "skipped", "a stage that it needs failed")
    broken = {name: state for name, state in states.items() if not state.is_completed()}
    if broken:
        reasons = {name: state.message or state.name for name, state in broken.items() if state.name != "NotReady"}
        waiting = [name for name, state in broken.items() if state.name == "NotReady"]
        raise PipelineFailed(
            "\n".join(
                [
                    *(f"{n}: {why}" for n, why in reasons.items()),
                    *([f"not run for that: {', '.join(waiting)}"] if waiting else []),
                ]
            )
        )
    return {name: state.message or "" for name, state in states.items()}


def _was_killed(_task: object, _run: object, state: State) -> bool:
    try:
        state.result()  # raises what the task raised
    except InfrastructureFailed:
        return True
    except Exception:
        return False
    return False


@task(retries=1, retry_delay_seconds=2, retry_condition_fn=_was_killed, cache_policy=NO_CACHE, persist_result=False)
def run_stage(stage: graph.Stage, due: bool, board: Board, places: Places) -> State:
    """One stage, through DVC. Its final state says what became of it."""
    logger = get_run_logger()
    root = Path.cwd()
    if not due:
        board.ended(stage.name, str(Outcome.UP_TO_DATE))
        return Completed(name="Cached", message=str(Outcome.UP_TO_DATE))
    with places.place(stage.name):
        logger.info("%s: %s", stage.name, stage.stale or "a stage before it ran")
        board.started(stage.name, stage.description)
        (root / PROGRESS / f"{stage.name}.json").unlink(missing_ok=True)
        try:
            outcome = repro(stage.name, root, on_poll=watch(stage.name, root, board))
        except (StageFailed, InfrastructureFailed, process.Busy, process.Stopped) as error:
            board.ended(stage.name, "failed", str(error))
            raise
    for file in stage.metrics:
        publish_metrics(stage.name, root / file)
    board.ended(stage.name, str(outcome))
    return Completed(name="Completed" if outcome is Outcome.RAN else "Cached", message=str(outcome))


def watch(name: str, root: Path, board: Board | None = None) -> Callable[[], None]:
    """A function to call while a stage runs: shows its progress file on the board and as an artifact."""
    artifact = ProgressArtifact(name)
    last = 0.0

    def show() -> None:
        nonlocal last
        progress = read_progress(name, root)
        if progress is None:
            return
        if board:
            board.progressed(name, progress)
        if time.monotonic() - last >= POLL_S:
            last = time.monotonic()
            artifact.show(progress)

    return show


def use(recipe: str) -> None:
    """Validate a recipe and put it in use.

    Raises:
        StageFailed: the recipe is wrong; the message says where.
    """
    command = [sys.executable, "-m", "components.cli", "use", recipe]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    if done.returncode:
        raise StageFailed((done.stdout + done.stderr).strip())
