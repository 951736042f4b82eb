"""The flow `stage`, which a worker runs: one stage in this machine's clone, for a pipeline flow on another machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from prefect import flow, get_run_logger

from components.store import FINISHED
from flows import graph, process
from flows.artifacts import PROGRESS, ProgressArtifact, read_progress
from flows.crash_safe_dvc import InfrastructureFailed, StageFailed, repair, repro
from flows.placement import handover, inputs
from flows.placement.handover import Order, OrderRefused, Report
from flows.placement.shared_store import SharedStore, StoreError
from flows.placement.state_mirror import StateMirror, last_work

PROJECT = "WAYMARK_PROJECT"
"""The environment variable with a worker's clone; without it, the clone from which Waymark is installed."""
BEAT_S = 5.0
"""Seconds between two signs of life."""
RUNNING = Path(".waymark/placement/running")
"""The folder with a file per stage that runs in this clone, or whose outputs DVC has not recorded."""
FORMER_RECIPE = Path(".waymark/params.before.yaml")
"""The recipe in use before the orders, which a person may have changed by hand."""
ORDERED_RECIPE = Path(".waymark/params.ordered.yaml")
"""The recipe of the last order."""


@flow(name="stage", flow_run_name="{stage}", validate_parameters=True)
def run_order(stage: str, store: str, token: str) -> None:
    """Carry out the order with a token: bring this clone to its state, run the stage, hand the outputs over.

    Args:
        stage: name as in dvc.yaml.
        store: address of the shared store.
        token: of the order.

    Raises:
        StageFailed: the stage failed.
        InfrastructureFailed, StoreError, OrderRefused: this machine could not run it.
    """
    os.chdir(os.environ.get(PROJECT) or Path(__file__).parents[2])
    process.allow()
    shared = SharedStore(store)
    order = handover.receive(shared, stage, token)
    with process.stopped_by_signals(on_stop=lambda: None), _Life(order, shared, Path.cwd()) as life:
        try:
            report = _carried_out(order, shared, Path.cwd(), life)
        except (StageFailed, OrderRefused, InfrastructureFailed, StoreError, process.Busy) as error:
            would_come_again = isinstance(error, StageFailed | OrderRefused)
            with contextlib.suppress(StoreError):
                life.end_copies(with_last=True)
                life.send(Report(token, error=str(error), is_stages_own=would_come_again))
            raise
        life.end_copies(with_last=False)
        is_sent = life.send(report)
    if is_sent:  # else the copy is that of the machine that has the newer order
        with contextlib.suppress(StoreError):  # the pipeline removes it, too
            handover.state_mirror(shared, stage, Path.cwd()).clear()


def _carried_out(order: Order, shared: SharedStore, root: Path, life: _Life) -> Report:
    logger = get_run_logger()
    logger.info("%s runs in the clone %s on %s", order.stage, root, socket.gethostname())
    with _recipe_in_use(order.params, root):
        if order.commit != (here := handover.commit(root)):
            raise OrderRefused(
                f"this worker's clone {root} on {socket.gethostname()} is at {here}, and the pipeline runs at "
                f"{order.commit}: bring both to the same commit, with the same changes to tracked files or none (`git "
                "status` names the changes of a clone; what follows the `+` is a digest of them)"
            )
        if different := inputs.differences(root, order.inputs):
            raise OrderRefused(
                f"this worker's clone {root} on {socket.gethostname()} has not the files of the pipeline's clone "
                f"that the stage reads and git ignores: {', '.join(different)}; copy them from there to the "
                "same path here, and of a folder that differs also remove the files that are not there"
            )
        process.end_abandoned(root, order.stage)  # an earlier order's stage must not write below the restored state
        for line in repair(root):
            logger.warning(line)
        handover.add_to_lock(root, {name: order.lock[name] for name in order.needs if name in order.lock})
        _forget_uncommitted([*order.needs, order.stage], root)
        handover.pull(root, shared, order.needs, order.needed_files)
        _take_over(order, shared, root)
        _forget_superseded(order, shared, root)
        mirror = handover.state_mirror(shared, order.stage, root, life.may_write)
        restored = mirror.restore()
        if restored:
            logger.info("%s continues from %d files that an earlier try has written", order.stage, restored)
        life.copy_with(mirror)
        (root / PROGRESS / f"{order.stage}.json").unlink(missing_ok=True)
        with _marked(order.stage, root):
            outcome = repro(order.stage, root, on_poll=life.show)
        if not life.may_write():
            raise process.Stopped(f"{order.stage}: another machine has taken the stage over")
        handover.push(root, shared, [order.stage], order.own_files)
        return Report(order.token, str(outcome), handover.lock_entries(root)[order.stage], mirror.entries, time.time())


def carries_out(root: Path, stage: str) -> bool:
    """Whether a flow run of a worker in this clone runs the stage at present."""
    mark = root / RUNNING / stage
    if not mark.exists():
        return False
    with mark.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _take_over(order: Order, shared: SharedStore, root: Path) -> None:
    """If an earlier order of the stage was carried out, and its report was not read, take its outputs: DVC then decides
    whether they are those of this order."""
    former = handover.report_of(shared, order.stage)
    entry = former.entry if former is not None and former.entry else order.lock.get(order.stage)
    if entry:
        handover.add_to_lock(root, {order.stage: entry})
        with contextlib.suppress(InfrastructureFailed):
            handover.pull(root, shared, [order.stage], order.own_files)


def _forget_superseded(order: Order, shared: SharedStore, root: Path) -> None:
    """Remove unfinished states of the stage with which an earlier order ended on another machine, after this one was
    lost. The stage would go on from them, also with other code. What was copied of a later order is restored after
    this."""
    former = handover.report_of(shared, order.stage)
    for name in former.state if former is not None and former.entry else []:
        state = handover.state_of(root, order.stage) / name
        is_newer = former is not None and last_work(state) > former.ended
        if state.is_dir() and not (state / FINISHED).exists() and not is_newer:
            shutil.rmtree(state)


def _forget_uncommitted(stages: Sequence[str], root: Path) -> None:
    """Remove what stages that failed or were killed in this clone have left of their outputs. DVC does not know these
    files, and would not put the outputs of another machine in their place."""
    for name in stages:
        mark = root / RUNNING / name
        if not mark.exists():
            continue
        with mark.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # the stage runs
                continue
            for output in graph.read(root, targets=[name])[name].outputs:
                path = root / output
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
            mark.unlink()


@contextlib.contextmanager
def _marked(stage: str, root: Path) -> Iterator[None]:
    """While a stage runs here, and after it failed or was killed, its outputs are marked as its own."""
    mark = root / RUNNING / stage
    mark.parent.mkdir(parents=True, exist_ok=True)
    with mark.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
        mark.unlink(missing_ok=True)


class _Life:
    """Signs of life in the store, and copies of the stage's state. When a newer order replaces this one, or the store
    was out of reach for as long as others wait for a sign, the stage ends."""

    def __init__(self, order: Order, shared: SharedStore, root: Path) -> None:
        self._order, self._root, self._shared = order, root, shared
        self._place = handover.of_stage(shared, order.stage)
        self._mirror: StateMirror | None = None
        self._ended, self._copied, self._lost = threading.Event(), threading.Event(), threading.Event()
        self._artifact = ProgressArtifact(order.stage)
        self._beating = threading.Thread(target=self._beat, daemon=True)
        self._copying = threading.Thread(target=self._copy, daemon=True)

    def __enter__(self) -> _Life:
        self._beating.start()
        self._copying.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with contextlib.suppress(StoreError):
            self.end_copies(with_last=kind is not None)
        self._ended.set()
        self._beating.join()

    def end_copies(self, with_last: bool) -> None:
        """Copy the state no more. The signs of life go on, because the last copy of a large state takes its time.

        Args:
            with_last: copy once more, so that the next try has all that was done.

        Raises:
            StoreError: the last copy could not be written.
        """
        if self._copied.is_set():
            return
        self._copied.set()
        self._copying.join()
        if with_last and self._mirror is not None and not self._lost.is_set():
            self._mirror.copy()

    def send(self, report: Report) -> bool:
        """Send the report of the order; returns False if a newer order has replaced this one. A store that is out of
        reach for a moment is tried again.

        Raises:
            StoreError: it is out of reach for as long as others wait for a sign of life.
        """
        ends = time.monotonic() + self._order.lost_after_s
        while True:
            try:
                return handover.send_report(self._shared, self._order.stage, report)
            except StoreError:
                if time.monotonic() > ends:
                    raise
                time.sleep(1.0)

    def copy_with(self, mirror: StateMirror) -> None:
        """From now on, copy the state."""
        self._mirror = mirror

    def may_write(self) -> bool:
        """Whether this order is the last one."""
        return not self._lost.is_set() and handover.is_last(self._shared, self._order.stage, self._order.token)

    def show(self) -> None:
        """Show the progress in Prefect."""
        progress = read_progress(self._order.stage, self._root)
        if progress is not None:
            self._artifact.show(progress)

    def _beat(self) -> None:
        count, heard = 0, time.monotonic()
        while True:
            progress = read_progress(self._order.stage, self._root)
            try:
                if not self.may_write():
                    return self._give_up("another machine has taken the stage over")
                sign = {"token": self._order.token, "count": (count := count + 1)}
                self._place.write_json(handover.BEAT, {**sign, "progress": asdict(progress) if progress else None})
                heard = time.monotonic()
            except StoreError as error:
                if time.monotonic() - heard > self._order.lost_after_s:
                    return self._give_up(f"the store is out of reach: {error}")
            if self._ended.wait(min(BEAT_S, self._order.lost_after_s / 4)):
                return None

    def _copy(self) -> None:
        while not self._copied.wait(self._order.sync_s) and not self._lost.is_set():
            if self._mirror is not None:
                try:
                    self._mirror.copy(is_ended=self._copied.is_set)
                except (StoreError, OSError) as error:  # the next copy has what this one lacks
                    print(f"{self._order.stage}: its state was not copied this time: {error}", flush=True)

    def _give_up(self, reason: str) -> None:
        print(f"{self._order.stage}: ended on this machine: {reason}", flush=True)
        self._lost.set()
        process.stop_all()


@contextlib.contextmanager
def _recipe_in_use(params: str, root: Path) -> Iterator[None]:
    """Put the recipe of an order in use, and keep other orders from changing it meanwhile.

    Raises:
        InfrastructureFailed: another order with another recipe is being carried out in this clone.
    """
    (root / ".waymark").mkdir(exist_ok=True)
    path = root / "params.yaml"
    with (root / ".waymark/recipe.lock").open("w") as lock:
        while True:
            fcntl.flock(lock, fcntl.LOCK_SH)
            present = path.read_text() if path.exists() else None
            if present == params:
                break
            fcntl.flock(lock, fcntl.LOCK_UN)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InfrastructureFailed(
                    f"this worker's clone {root} runs a stage of another recipe: wait for it, or use another clone"
                ) from error
            of_order = root / ORDERED_RECIPE
            if present is not None and not (of_order.exists() and of_order.read_text() == present):
                (root / FORMER_RECIPE).write_text(present)
            of_order.write_text(params)
            partial = path.with_name(".params.yaml.part")
            partial.write_text(params)
            partial.replace(path)
        yield
