"""The pipeline as a Prefect flow: one task per stage of dvc.yaml, independent stages concurrently.

1. The flow reads the DAG and the stale stages from DVC once.
2. It submits a task per stage, which waits for the stages before it. A stage that is neither stale nor after a stale
   one completes at once as "up to date"; every other stage runs as a crash-safe `dvc repro --single-item`.
3. While a stage runs, its progress file becomes a progress artifact; at its end its metrics become artifacts.

A stage is retried only if it or dvc was killed, and then resumes from its journal. A stage that fails by itself would
fail again. Stages after a failed one do not run; all others do.

If more stages are ready than may run at once, the stage with the longest chain after it runs first
(`flows.scheduling`).

With `placement` in the recipe, stages run in work pools of other machines (`flows.placement`); all others run on the
machine of the flow run. Accepted trade-off: a task is "running" in Prefect while it waits for one of the `side_by_side`
slots.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
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

from components.params.loading import DEFAULT_PATH, complete, find
from components.params.recipe_file import RecipeError
from flows import graph, prerequisites, process
from flows.artifacts import PROGRESS, ProgressArtifact, publish_metrics, read_progress
from flows.clone_lock import CloneInUse, only_pipeline
from flows.console import StageConsole
from flows.crash_safe_dvc import InfrastructureFailed, Outcome, StageFailed, repair, repro
from flows.placement.pool import Pools, placement_of
from flows.placement.shared_store import StoreError
from flows.recipe_in_use import RecipeInUse
from flows.running_stages import stages_of_workers
from flows.scheduling import StageSlots, default_slots

POLL_S = 1.0
"""Minimum seconds between two updates of a progress artifact."""


class PipelineFailed(RuntimeError):
    """Stages failed. The message names each with the end of its log."""


@flow(
    name="pipeline",
    task_runner=ThreadPoolTaskRunner[Any](),  # type: ignore[arg-type]  # declared for one class of futures alone
    validate_parameters=True,
)
def pipeline(recipe: str | None = None, side_by_side: int | None = None) -> dict[str, str]:
    """Bring every stage up to date; returns the outcome of each (`ran`, `restored`, `up to date`).

    Args:
        recipe: a recipe to put in use first; None uses the present params.yaml.
        side_by_side: concurrent stages on this machine; None: two, or one if the recipe uses GPUs. Stages in work pools
            do not count.

    Raises:
        StageFailed: another pipeline runs in this clone or uses the recipe's store, another process runs a stage here,
            the recipe is wrong, a stage lacks a key or a file (`prerequisites`), or a work pool that the recipe names
            does not exist.
        StoreError: the store that its section `placement` names cannot be written.
        PipelineFailed: a stage failed; the stages that do not need it are done.
    """
    with only_pipeline(Path.cwd()):
        return _run(recipe, side_by_side)


def _run(recipe: str | None, side_by_side: int | None) -> dict[str, str]:
    logger = get_run_logger()
    root = Path.cwd()
    console = Console(quiet=runtime.deployment.id is not None)  # the UI shows runs of a worker
    for line in repair(root):
        logger.warning(line)
    running = stages_of_workers(root)
    if running and recipe and not is_in_use(recipe):
        raise CloneInUse(
            f"{recipe} cannot replace params.yaml while workers run stages in this clone: {'; '.join(running.values())}"
        )
    for line in use(recipe) if recipe else ():
        logger.warning(line)
        console.print(line, markup=False, highlight=False)
    stages = graph.read(root, with_status=True, running=running)
    due = graph.to_run(stages)
    prerequisites.require(root, stages, due)
    pools_of_recipe = Pools(placement_of(root), stages, root)
    for name, reason in running.items():
        if not pools_of_recipe.has(name):  # a pool's order replaces the one that its worker carries out
            raise CloneInUse(f"a worker runs {name} in this clone, and placement.pools names no pool for it: {reason}")
    recipe_in_use = RecipeInUse(root, stages)
    logger.info(
        "%d of %d stages to run: %s", len(due), len(stages), ", ".join(name for name in stages if name in due) or "none"
    )
    process.allow()
    with pools_of_recipe as pools, StageConsole(list(stages), console) as display:
        slots = StageSlots(side_by_side or default_slots(root), stages, due)
        futures: dict[str, Any] = {}
        with process.stopped_by_signals(on_stop=slots.release_all):
            try:
                for stage in stages.values():
                    named = run_stage.with_options(name=stage.name, task_run_name=stage.name)
                    futures[stage.name] = named.submit(  # type: ignore[call-overload]  # Prefect unwraps quotes
                        quote(stage),
                        stage.name in due,
                        quote(display),
                        quote(slots),
                        quote(pools),
                        quote(recipe_in_use),
                        wait_for=[futures[need] for need in stage.needs],
                    )
                wait(list(futures.values()))
            except BaseException:
                process.stop_all()
                slots.release_all()
                raise
        if process.stopping():
            raise KeyboardInterrupt("the flow was stopped")  # a library swallowed the KeyboardInterrupt of the signal
        states = {name: future.state for name, future in futures.items()}
        for name, state in states.items():
            if not state.is_completed() and state.name == "NotReady":
                display.ended(name, "skipped", "a stage that it needs failed")
    broken = {name: state for name, state in states.items() if not state.is_completed()}
    if broken:
        reasons = {name: state.message or state.name for name, state in broken.items() if state.name != "NotReady"}
        waiting = [name for name, state in broken.items() if state.name == "NotReady"]
        raise PipelineFailed(
            "\n".join(
                [
                    *(f"{name}: {reason}" for name, reason in reasons.items()),
                    *([f"not run because of that: {', '.join(waiting)}"] if waiting else []),
                ]
            )
        )
    return {name: state.message or "" for name, state in states.items()}


def was_killed(_task: object, _run: object, state: State) -> bool:
    """Whether a task failed with `InfrastructureFailed`, after which another try may succeed. For Prefect's tasks."""
    try:
        state.result()  # raises the error of the task
    except InfrastructureFailed:
        return True
    except Exception:
        return False
    return False


@task(retries=1, retry_delay_seconds=2, retry_condition_fn=was_killed, cache_policy=NO_CACHE, persist_result=False)
def run_stage(
    stage: graph.Stage, due: bool, display: StageConsole, slots: StageSlots, pools: Pools, recipe_in_use: RecipeInUse
) -> State:
    """Run one stage through DVC, here or in its work pool. The final state has its outcome."""
    logger = get_run_logger()
    root = Path.cwd()
    if not due:
        display.ended(stage.name, str(Outcome.UP_TO_DATE))
        return Completed(name="Cached", message=str(Outcome.UP_TO_DATE))
    in_pool = pools.has(stage.name)
    with slots.elsewhere(stage.name) if in_pool else slots.hold(stage.name):
        logger.info("%s: %s", stage.name, stage.stale or "a stage before it ran")
        display.started(stage.name, stage.description)
        (root / PROGRESS / f"{stage.name}.json").unlink(missing_ok=True)
        try:
            require_unchanged = partial(recipe_in_use.require_unchanged, stage.name)
            if in_pool:
                outcome = pools.run(
                    stage, lambda progress: display.progressed(stage.name, progress), before_try=require_unchanged
                )
            else:
                require_unchanged()
                outcome = repro(stage.name, root, on_poll=watch(stage.name, root, display))
        except (StageFailed, InfrastructureFailed, StoreError, process.Busy, process.Stopped) as error:
            display.ended(stage.name, "failed", str(error))
            raise
    for file in stage.metrics:
        publish_metrics(stage.name, root / file)
    display.ended(stage.name, str(outcome))
    return Completed(name="Completed" if outcome is Outcome.RAN else "Cached", message=str(outcome))


def watch(name: str, root: Path, display: StageConsole | None = None) -> Callable[[], None]:
    """A function to call while a stage runs: it shows the progress file on the console and as an artifact."""
    artifact = ProgressArtifact(name)
    last = 0.0

    def show() -> None:
        nonlocal last
        progress = read_progress(name, root)
        if progress is None:
            return
        if display:
            display.progressed(name, progress)
        if time.monotonic() - last >= POLL_S:
            last = time.monotonic()
            artifact.show(progress)

    return show


def is_in_use(recipe: str) -> bool:
    """Whether params.yaml is this recipe, as `use` would write it."""
    try:
        return DEFAULT_PATH.exists() and DEFAULT_PATH.read_text(encoding="utf-8") == complete(find(Path(recipe)))
    except RecipeError:
        return False


def use(recipe: str) -> list[str]:
    """Validate a recipe and put it in use; returns lines about a params.yaml that was changed by hand and is kept.

    Raises:
        StageFailed: the recipe is wrong; the message names the field.
    """
    command = [sys.executable, "-m", "components.cli.main", "use", "--force", recipe]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    if completed.returncode:
        raise StageFailed((completed.stdout + completed.stderr).strip())
    return completed.stderr.splitlines()
