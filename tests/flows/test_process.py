"""A call leaves no process behind, however it ends. Real processes, real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from flows import process

ROOT = Path(__file__).resolve().parents[2]
TREE = """
import subprocess, sys, time
# a grandchild in a session of its own that ignores SIGTERM, as a browser may
child = '''
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
'''
subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
time.sleep(float(sys.argv[1]))
"""


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.5)
    process.allow()


def marked(tmp_path: Path) -> list[int]:
    """Living processes that work in this test's project."""
    found = []
    for one in psutil.process_iter():
        try:
            if process.MARK in one.environ() and one.cwd() == str(tmp_path):
                found.append(one.pid)
        except psutil.Error:
            continue
    return found


def run_tree(tmp_path: Path, seconds: float) -> int:
    return process.call([sys.executable, "-c", TREE, str(seconds)], name="tree", log=tmp_path / "log", root=tmp_path)


def test_processes_left_by_a_finished_command_are_ended(tmp_path: Path) -> None:
    assert run_tree(tmp_path, 1.0) == 0
    assert "ready" in (tmp_path / "log").read_text()
    assert marked(tmp_path) == []


def test_the_log_of_the_try_before_is_kept(tmp_path: Path) -> None:
    for text in ("first", "second"):
        process.call([sys.executable, "-c", f"print('{text}')"], name="x", log=tmp_path / "x.log", root=tmp_path)
    assert (tmp_path / "x.log").read_text() == "second\n"
    assert process.former_log(tmp_path / "x.log").read_text() == "first\n"


def test_a_killed_command_takes_its_children_with_it(tmp_path: Path) -> None:
    def kill() -> None:
        while "ready" not in ((tmp_path / "log").read_text() if (tmp_path / "log").exists() else ""):
            time.sleep(0.05)
        os.kill(min(marked(tmp_path)), signal.SIGKILL)

    threading.Thread(target=kill).start()
    assert run_tree(tmp_path, 60) == -signal.SIGKILL
    assert marked(tmp_path) == []


def test_a_process_that_is_born_during_the_end_is_ended(tmp_path: Path) -> None:
    """The shell starts another process when it is told to end."""
    script = "trap 'sleep 77 & exit' TERM; echo ready; while :; do sleep 0.1; done"
    child = subprocess.Popen(["bash", "-c", script], env=os.environ | {process.MARK: "m"}, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    process.end("m")
    assert child.wait() == 0
    assert process._marked_processes("m") == []


def test_stop_all_ends_calls_of_every_thread_and_refuses_new_ones(tmp_path: Path) -> None:
    raised: list[BaseException] = []

    def work() -> None:
        try:
            run_tree(tmp_path, 60)
        except process.Stopped as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while len(marked(tmp_path)) < 2:
        time.sleep(0.05)
    process.stop_all()
    thread.join(timeout=10)
    assert len(raised) == 1
    assert marked(tmp_path) == []
    with pytest.raises(process.Stopped):
        run_tree(tmp_path, 1)


def test_a_stop_that_comes_before_the_child_is_there_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = subprocess.Popen

    def stopped_first(*arguments: Any, **options: Any) -> subprocess.Popen:
        if options.get("stdin") == subprocess.DEVNULL:
            process.stop_all()
        return start(*arguments, **options)

    monkeypatch.setattr(process.subprocess, "Popen", stopped_first)
    began = time.monotonic()
    with pytest.raises(process.Stopped):
        run_tree(tmp_path, 60)
    assert time.monotonic() - began < 30
    assert marked(tmp_path) == []


def test_an_error_while_polling_ends_the_command(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("polling failed")

    command = [sys.executable, "-c", TREE, "60"]
    with pytest.raises(RuntimeError, match="polling failed"):
        process.call(command, name="tree", log=tmp_path / "log", root=tmp_path, on_poll=fail)
    assert marked(tmp_path) == []


CALLER = """
import sys
from pathlib import Path
from flows import process
root = Path(sys.argv[1])
tree = "import subprocess, sys, time; subprocess.Popen(['sleep', '600'], start_new_session=True); time.sleep(600)"
process.call([sys.executable, "-c", tree], name="tree", log=root / "log", root=root)
"""


@pytest.mark.slow
@pytest.mark.parametrize("watchdog_is_killed_first", [False, True])
def test_a_tree_ends_when_only_its_caller_is_killed(tmp_path: Path, watchdog_is_killed_first: bool) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", CALLER, str(tmp_path)], cwd=ROOT, env=environment) as caller:
        tree = until(lambda: [psutil.Process(pid) for pid in found] if len(found := marked(tmp_path)) == 2 else [])
        if watchdog_is_killed_first:
            (killed,) = watchdogs(caller.pid)
            killed.kill()
            until(lambda: [watchdog for watchdog in watchdogs(caller.pid) if watchdog != killed])
        caller.kill()
    _, alive = psutil.wait_procs(tree, timeout=20)
    for survivor in alive:
        survivor.kill()
    assert alive == []
    assert (tmp_path / process.CALLS / "tree.json").exists(), "the caller ended by itself"


def watchdogs(pid: int) -> list[psutil.Process]:
    """The watchdogs of a process."""
    children = psutil.Process(pid).children()
    living = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in living if "flows.watchdog" in child.cmdline()]


def until(found: Callable[[], list[psutil.Process]]) -> list[psutil.Process]:
    """Wait until there are processes, and return them."""
    ends = time.monotonic() + 30
    while not (processes := found()):
        assert time.monotonic() < ends, "they did not start"
        time.sleep(0.05)
    return processes


def test_the_end_of_a_marked_caller_does_not_end_its_watchdog(tmp_path: Path) -> None:
    """A flow may be a part of another call, such as one of a study; its own calls have marks of their own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), process.MARK: "outer"}
    with subprocess.Popen([sys.executable, "-c", CALLER, str(tmp_path)], cwd=ROOT, env=environment) as caller:
        tree = until(lambda: [psutil.Process(pid) for pid in found] if len(found := marked(tmp_path)) == 2 else [])
        process.end("outer")
        caller.wait(10)
    assert psutil.wait_procs(tree, timeout=20)[1] == []


OWNER = """
import subprocess, sys, time
from pathlib import Path
from flows import process
process.own_children(Path(sys.argv[1]))
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
time.sleep(600)
"""


def test_the_children_of_a_killed_owner_are_ended_by_the_next_one(tmp_path: Path) -> None:
    children = []
    for _ in range(2):
        with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as owner:
            assert owner.stdout is not None
            children.append(psutil.Process(int(owner.stdout.readline())))
            owner.kill()
    psutil.wait_procs(children[:1], timeout=5)
    assert not children[0].is_running() or children[0].status() == psutil.STATUS_ZOMBIE
    assert children[1].is_running()
    children[1].kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_calls_even_if_its_exception_is_swallowed(tmp_path: Path, number: int) -> None:
    """A library's callback or destructor may swallow what a signal raises in the main thread."""
    said: list[str] = []
    let_in = threading.Event()

    def work() -> None:
        try:
            run_tree(tmp_path, 60.0)
        except process.Stopped as error:
            said.append(str(error))

    before = signal.getsignal(number)
    worker = threading.Thread(target=work)
    with process.stopped_by_signals(on_stop=let_in.set):
        worker.start()
        deadline = time.monotonic() + 20
        while len(marked(tmp_path)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        try:
            os.kill(os.getpid(), number)
            time.sleep(0.2)
        except (KeyboardInterrupt, SystemExit):
            pass
        worker.join(20)
    assert said == ["tree: stopped with the flow"]
    assert let_in.is_set()
    assert process.stopping()
    assert marked(tmp_path) == []
    assert signal.getsignal(number) == before
