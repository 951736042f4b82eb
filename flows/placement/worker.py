"""The flow `stage`, which a worker runs: one stage in this machine's clone, for a pipeline flow on another machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from prefect import flow, get_run_logger

from flows import process
from flows.artifacts import PROGRESS, ProgressArtifact, read_progress
from flows.crash_safe_dvc import InfrastructureFailed, StageFailed, repair, repro
from flows.placement import handover
from flows.placement.handover import Order, OrderRefused, Report
from flows.placement.shared_store import SharedStore, StoreError
from flows.placement.state_mirror import StateMirror

PROJECT = "WAYMARK_PROJECT"
"""The environment variable with a worker's clone; without it, the clone from which Waymark is installed."""
BEAT_S = 5.0
"""Seconds between two signs of life."""
STATE = Path(".waymark/state")


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
    with process.stopped_by_signals(on_stop=lambda: None):
        try:
            report = _carried_out(order, shared, Path.cwd())
        except StageFailed as error:
            handover.send_report(shared, stage, Report(token, error=str(error), is_stages_own=True))
            raise
        except (InfrastructureFailed, OrderRefused, process.Busy, StoreError) as error:
            with contextlib.suppress(StoreError):
                must_change = isinstance(error, OrderRefused)  # a clone, by hand
                handover.send_report(shared, stage, Report(token, error=str(error), is_stages_own=must_change))
            raise
    handover.send_report(shared, stage, report)
    with contextlib.suppress(StoreError):  # a copy that stays only takes up space
        StateMirror(Path.cwd() / STATE / stage, handover.state_of_stage(shared, stage)).clear()


def _carried_out(order: Order, shared: SharedStore, root: Path) -> Report:
    logger = get_run_logger()
    with _Life(order, shared, root) as life, _recipe_in_use(order.params, root):
        if order.commit != (here := handover.commit(root)):
            raise OrderRefused(
                f"this worker's clone is at {here or 'no commit'}, and the pipeline runs at {order.commit}: bring both "
                "to the same commit, without changes to tracked files"
            )
        for line in repair(root):
            logger.warning(line)
        handover.add_to_lock(root, {name: order.lock[name] for name in order.needs if name in order.lock})
        handover.pull(root, shared, order.needs, order.needed_files)
        _take_over(order, shared, root)
        mirror = StateMirror(root / STATE / order.stage, handover.state_of_stage(shared, order.stage), life.may_write)
        restored = mirror.restore()
        if restored:
            logger.info("%s continues from %d files that an earlier try has written", order.stage, restored)
        life.copy_with(mirror)
        (root / PROGRESS / f"{order.stage}.json").unlink(missing_ok=True)
        outcome = repro(order.stage, root, on_poll=life.show)
        handover.push(root, shared, [order.stage], order.own_files)
        return Report(order.token, str(outcome), handover.lock_entries(root)[order.stage])


def _take_over(order: Order, shared: SharedStore, root: Path) -> None:
    """If an earlier order of the stage was carried out, and its report was not read, take its outputs: DVC then decides
    whether they are those of this order."""
    former = handover.report_of(shared, order.stage)
    entry = former.entry if former is not None and former.entry else order.lock.get(order.stage)
    if entry:
        handover.add_to_lock(root, {order.stage: entry})
        with contextlib.suppress(InfrastructureFailed):
            handover.pull(root, shared, [order.stage], order.own_files)


class _Life:
    """Signs of life in the store, and copies of the stage's state. When a newer order replaces this one, or the store
    was out of reach for as long as others wait for a sign, the stage ends."""

    def __init__(self, order: Order, shared: SharedStore, root: Path) -> None:
        self._order, self._root, self._shared = order, root, shared
        self._place = handover.of_stage(shared, order.stage)
        self._mirror: StateMirror | None = None
        self._ended = threading.Event()
        self._lost = threading.Event()
        self._artifact = ProgressArtifact(order.stage)
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._beat, self._copy)]

    def __enter__(self) -> _Life:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        if kind is not None and self._mirror is not None and not self._lost.is_set():
            with contextlib.suppress(StoreError):
                self._mirror.copy()

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
        while not self._ended.wait(self._order.sync_s) and not self._lost.is_set():
            if self._mirror is not None:
                try:
                    self._mirror.copy()
                except StoreError as error:  # the next copy has what this one lacks
                    print(f"{self._order.stage}: its state was not copied this time: {error}", flush=True)

    def _give_up(self, why: str) -> None:
        print(f"{self._order.stage}: ended on this machine: {why}", flush=True)
        self._lost.set()
        process.stop_all()


@contextlib.contextmanager
def _recipe_in_use(params: str, root: Path) -> Iterator[None]:
    """Put the recipe of an order in use, and keep others from changing it meanwhile.

    Raises:
        InfrastructureFailed: another order with another recipe is being carried out in this clone.
    """
    (root / ".waymark").mkdir(exist_ok=True)
    with (root / ".waymark/recipe.lock").open("w") as lock:
        path = root / "params.yaml"
        if path.exists() and path.read_text() == params:
            fcntl.flock(lock, fcntl.LOCK_SH)
        else:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InfrastructureFailed(
                    f"this worker's clone {root} runs a stage of another recipe: wait for it, or use another clone"
                ) from error
            partial = path.with_name(".params.yaml.part")
            partial.write_text(params)
            partial.replace(path)
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield
