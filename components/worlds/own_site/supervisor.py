"""Runs an application's command as a child and ends all of its processes when standard input closes.

Standard input closes when Waymark stops the application and when Waymark's process dies, however it dies. Before it
stops an application, Waymark writes `STOPPED`; without that it has died, and its copy of the data is removed, too.

On Linux, processes that leave their parents and their process group, such as a database server that runs in the
background, become children of this process and are ended with it. Elsewhere only the process group is ended.

This file runs as a script, with the standard library only. It takes the command, and the folder of the application, in
which it writes the process group of the command, so that Waymark can end it if this process is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading

STANDARD_INPUT = 0
STOPPED = b"stopped"
GROUP_FILE = "process_group"
_SET_CHILD_SUBREAPER = 36
"""Of `prctl` (Linux): orphans among the descendants become children of this process."""


def main(command: str, folder: str) -> int:
    """The command's exit status, or 0 if it was ended from here."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = subprocess.Popen(["/bin/sh", "-e", "-c", command], stdin=subprocess.DEVNULL, start_new_session=True)
    with open(os.path.join(folder, GROUP_FILE), "w") as file:
        file.write(str(child.pid))
    received: list[bytes] = []
    is_ended = threading.Event()

    def end_with_parent() -> None:
        while content := os.read(STANDARD_INPUT, 4096):
            received.append(content)
        is_ended.set()
        _end_group(child.pid)

    threading.Thread(target=end_with_parent, daemon=True).start()
    status = _status_of(child.pid)
    _end_group(child.pid)  # processes that the command left behind
    _end_children()
    if is_ended.is_set() and b"".join(received) != STOPPED:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if is_ended.is_set() else status


def _status_of(command: int) -> int:
    """Waits until the command ends; takes note of the orphans that end before."""
    while True:
        pid, status = os.wait()
        if pid == command:
            return os.waitstatus_to_exitcode(status)


def _end_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _end_children() -> None:
    """Ends the children, and the orphans that they leave, until there are none."""
    with contextlib.suppress(ChildProcessError):
        while True:
            for pid in _children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os.wait()


def _children() -> list[int]:
    children = []
    for name in filter(str.isdigit, os.listdir("/proc") if sys.platform == "linux" else ()):
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = file.read().rpartition(b")")[2].split()[1]  # after the name, which may have any characters
            if int(parent) == os.getpid():
                children.append(int(name))
    return children


if __name__ == "__main__":
    os._exit(main(sys.argv[1], sys.argv[2]))  # the thread still reads
