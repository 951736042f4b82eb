"""Runs an application's command as a child and ends all of its processes when standard input closes.

Standard input closes when Waymark stops the application and when Waymark's process dies, however it dies. This file
runs as a script, with the standard library only. It takes the command, and a file into which it writes the process
group of the command, so that Waymark can end it if this process is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

STANDARD_INPUT = 0


def main(command: str, group_file: str) -> int:
    """The command's exit status, or 0 if it was ended from here."""
    child = subprocess.Popen(["/bin/sh", "-e", "-c", command], stdin=subprocess.DEVNULL, start_new_session=True)
    with open(group_file, "w") as file:
        file.write(str(child.pid))
    is_ended = threading.Event()

    def end_with_parent() -> None:
        while os.read(STANDARD_INPUT, 4096):
            pass
        is_ended.set()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)

    threading.Thread(target=end_with_parent, daemon=True).start()
    status = child.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)  # processes that the command left behind
    return 0 if is_ended.is_set() else status


if __name__ == "__main__":
    os._exit(main(sys.argv[1], sys.argv[2]))  # the thread still reads
