"""Child processes that leave no orphans.

A stage is a tree: dvc, a shell, the stage, a browser driver, browsers in sessions of their own. Kill the top and the
rest lives on, so each tree carries a mark in its environment, and everything with that mark ends

1. when the call ends, for whatever reason, a SIGKILL of dvc included;
2. when the flow is stopped (`stop_all`);
3. when the same name is called again after the flow itself was killed: the mark is written down in `.waymark/calls/`.

What is not a call, such as Prefect's own server, carries its owner in its environment (`own_children`).

Accepted trade-off: after a SIGKILL of the flow, the tree works on until the next call. Nothing it does is lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

MARK = "WAYMARK_CALL"
OWNER = "WAYMARK_OWNER"
CALLS = Path(".waymark/calls")
GRACE_S = 10.0

_live: set[str] = set()
_lock = threading.Lock()
_stopping = threading.Event()


class Busy(RuntimeError):
    """Another flow, still alive, is running the same thing."""


class Stopped(RuntimeError):
    """The flow was stopped, and this call with it."""


def call(
    command: Sequence[str],
    *,
    name: str,
    log: Path,
    root: Path,
    environment: Mapping[str, str] | None = None,
    on_poll: Callable[[], None] | None = None,
    poll_s: float = 0.5,
) -> int:
    """Run a command with its output in `log` and return its exit code; a negative one is the signal that killed it.

    Args:
        name: what runs; one call of a name at a time in a project.
        on_poll: called every `poll_s` seconds while the command runs.

    Raises:
        Busy: a living process runs `name` in this project.
        Stopped: `stop_all` was called.
    """
    record = root / CALLS / f"{name}.json"
    _claim(record, name)
    mark = uuid.uuid4().hex
    with _lock:
        if _stopping.is_set():
            raise Stopped(f"{name}: not started, the flow was stopped")
        _live.add(mark)
    record.parent.mkdir(parents=True, exist_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        _write(record, {"mark": mark, "pid": os.getpid(), "started": psutil.Process().create_time()})
        with log.open("wb") as output:
            child = subprocess.Popen(
                list(command),
                cwd=root,
                env={**os.environ, **(environment or {}), MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        while True:
            try:
                code = child.wait(poll_s)
                break
            except subprocess.TimeoutExpired:
                if on_poll:
                    on_poll()
    finally:
        end(mark)
        with _lock:
            _live.discard(mark)
        record.unlink(missing_ok=True)
    if _stopping.is_set():
        raise Stopped(f"{name}: stopped with the flow")
    return code


def stop_all() -> None:
    """End every call of this process, from any thread. Calls that come later are refused."""
    _stopping.set()
    with _lock:
        marks = set(_live)
    for mark in marks:
        end(mark)


def allow() -> None:
    """Take back a `stop_all`: a process that runs several flows, one after another."""
    _stopping.clear()


def stopping() -> bool:
    """Whether `stop_all` was called."""
    return _stopping.is_set()


@contextlib.contextmanager
def stopped_by_signals(also: Callable[[], None]) -> Iterator[None]:
    """SIGINT and SIGTERM first end every call and call `also`, in a thread, and then do what they did before.

    What they did before is to raise in the main thread, wherever that is: in a callback or a destructor of a library,
    say, which swallows it. The stages end all the same.
    """
    if threading.current_thread() is not threading.main_thread():  # where signals never arrive
        yield
        return
    before: dict[int, Any] = {}

    def stop() -> None:
        also()
        stop_all()

    def handle(number: int, frame: FrameType | None) -> None:
        _stopping.set()
        threading.Thread(target=stop, daemon=True).start()
        if callable(before[number]):
            before[number](number, frame)
        else:
            sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def own_children(root: Path) -> None:
    """Mark all later children of this process as its own, and end those whose owner in this project was killed.

    Also makes SIGTERM an ordinary exit, in which Python's exit handlers run: they stop what libraries started.
    """
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ValueError):
            pid, started, where = process.environ().get(OWNER, "").split(":", 2)
            if where == str(root.resolve()) and not _lives(int(pid), float(started)):
                process.terminate()
    os.environ[OWNER] = f"{os.getpid()}:{psutil.Process().create_time()}:{root.resolve()}"
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))


def end(mark: str) -> int:
    """SIGTERM everything that carries the mark, SIGKILL after a grace of 10 s; returns how many there were."""
    family = _family(mark)
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(family, timeout=GRACE_S)
    while alive:
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(alive, timeout=1)
        alive = _family(mark)
    return len(family)


def _family(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def _claim(record: Path, name: str) -> None:
    """Refuse if a living flow runs this; end what a dead one left behind."""
    try:
        left = json.loads(record.read_text())
        mark, pid, started = str(left["mark"]), int(left["pid"]), float(left["started"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return
    if _lives(pid, started):
        raise Busy(f"{name} is being run by process {pid}; wait for it or stop it with `kill {pid}`")
    end(mark)


def _lives(pid: int, started: float) -> bool:
    """True if the process that had this number at that time (seconds since the epoch) still runs."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return abs(process.create_time() - started) < 1 and process.status() != psutil.STATUS_ZOMBIE
    return False


def _write(path: Path, value: dict) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    partial.write_text(json.dumps(value))
    os.replace(partial, path)
