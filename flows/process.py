"""Child processes without orphans.

A stage is a process tree: dvc, a shell, the stage, a browser driver, browsers in their own sessions. If the top process
is killed, the others keep running. So each tree has a mark in its environment, and all processes with the mark are
ended

1. when the call ends, also after a SIGKILL of dvc;
2. when the flow is stopped (`stop_all`);
3. when the flow itself is killed, by a process that watches it (`flows.watchdog`);
4. when the same name is called again, if flow and watchdog were both killed: `.waymark/calls/` has the mark.

Other children, such as Prefect's server, have their owner in their environment (`own_children`).
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

from flows.watchdog import Watchdog

MARK = "WAYMARK_CALL"
OWNER = "WAYMARK_OWNER"
CALLS = Path(".waymark/calls")
GRACE_S = 10.0

_running_marks: set[str] = set()
_lock = threading.Lock()
_stopping = threading.Event()
_watchdog = Watchdog(without=(MARK, OWNER))


class Busy(RuntimeError):
    """Another living flow runs the same name."""


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
    """Run a command with its output in `log`; returns its exit code, which is negative if a signal killed it.

    Args:
        name: identifies the call; a project runs one call of a name at a time.
        log: the file; the log of the call before is kept beside it, with `.1` behind its name.
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
        _running_marks.add(mark)
    record.parent.mkdir(parents=True, exist_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        _write(record, {"mark": mark, "pid": os.getpid(), "started": psutil.Process().create_time()})
        _watchdog.watch(mark)
        if log.exists():
            log.replace(former_log(log))
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
                if _stopping.is_set():  # the stop may have come before the child was there
                    end(mark)
                _watchdog.check()
                if on_poll:
                    on_poll()
    finally:
        end(mark)
        _watchdog.forget(mark)
        with _lock:
            _running_marks.discard(mark)
        record.unlink(missing_ok=True)
    if _stopping.is_set():
        raise Stopped(f"{name}: stopped with the flow")
    return code


def former_log(log: Path) -> Path:
    """Where the log of the call before is."""
    return log.with_name(f"{log.name}.1")


def stop_all() -> None:
    """End every call of this process. Later calls are refused. Thread-safe."""
    _stopping.set()
    with _lock:
        marks = set(_running_marks)
    for mark in marks:
        end(mark)


def allow() -> None:
    """Accept calls again after `stop_all`, for a process that runs several flows one after another."""
    _stopping.clear()


def stopping() -> bool:
    """Whether `stop_all` was called."""
    return _stopping.is_set()


@contextlib.contextmanager
def stopped_by_signals(on_stop: Callable[[], None]) -> Iterator[None]:
    """SIGINT and SIGTERM first call `on_stop` and end every call, in a thread, and then run their former handlers.

    A former handler raises in the main thread, which may be in a callback or a destructor of a library that swallows
    the error. The stages end in any case.
    """
    if threading.current_thread() is not threading.main_thread():  # signals arrive only in the main thread
        yield
        return
    before: dict[int, Any] = {}

    def stop() -> None:
        on_stop()
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
        for earlier, handler in before.items():
            signal.signal(earlier, handler)


def own_children(root: Path) -> None:
    """Mark all later children with this process as owner, and end children of owners in this project that were killed.

    SIGTERM becomes an ordinary exit, so that Python's exit handlers stop the processes that libraries started.
    """
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ValueError):
            pid, started, where = process.environ().get(OWNER, "").split(":", 2)
            if where == str(root.resolve()) and not _lives(int(pid), float(started)):
                process.terminate()
    os.environ[OWNER] = f"{os.getpid()}:{psutil.Process().create_time()}:{root.resolve()}"
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))


def end_abandoned(root: Path, name: str | None = None) -> None:
    """End the processes of calls in this project whose flow was killed, and wait until they are gone.

    Args:
        name: only the call of this name.

    Raises:
        Busy: a living flow runs such a call.
    """
    records = sorted((root / CALLS).glob("*.json")) if name is None else [root / CALLS / f"{name}.json"]
    for record in records:
        _claim(record, record.name.removesuffix(".json"))


def call_of(root: Path, pid: int) -> str | None:
    """The name of the call in this project to which a process belongs, or None."""
    try:
        mark = psutil.Process(pid).environ().get(MARK)
    except psutil.Error:
        return None
    for record in (root / CALLS).glob("*.json"):
        with contextlib.suppress(FileNotFoundError, ValueError, KeyError, TypeError):
            if json.loads(record.read_text())["mark"] == mark:
                return record.name.removesuffix(".json")
    return None


def end(mark: str) -> int:
    """Send SIGTERM to all processes with the mark, and SIGKILL after 10 s; returns the number of processes."""
    marked = _marked_processes(mark)
    for process in marked:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    psutil.wait_procs(marked, timeout=GRACE_S)
    while alive := _marked_processes(mark):  # also those that were born meanwhile
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(alive, timeout=1)
    return len(marked)


def _marked_processes(mark: str) -> list[psutil.Process]:
    processes = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                processes.append(process)
        except psutil.Error:
            continue
    return processes


def _claim(record: Path, name: str) -> None:
    """Refuse if a living flow runs this name; end the processes that a dead flow left."""
    try:
        former = json.loads(record.read_text())
        mark, pid, started = str(former["mark"]), int(former["pid"]), float(former["started"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return
    if _lives(pid, started):
        raise Busy(f"{name} is being run by process {pid}; wait for it or stop it with `kill {pid}`")
    end(mark)


def _lives(pid: int, started: float) -> bool:
    """True if the process with this id that started at this time (seconds since the epoch) still runs."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return abs(process.create_time() - started) < 1 and process.status() != psutil.STATUS_ZOMBIE
    return False


def _write(path: Path, value: dict) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    partial.write_text(json.dumps(value))
    os.replace(partial, path)
