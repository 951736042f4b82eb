"""Ends the calls of a process that was killed: `python -m flows.watchdog [MARK ...]`, which `flows.process` starts.

Its arguments are the marks of the calls that have begun before it. It reads lines from a pipe whose other end only the
process that makes the calls has: `+MARK` when a call begins and `-MARK` when it has ended. The pipe closes when this
process ends, whatever ends it. Then the watchdog ends the processes of all calls that have not ended, and itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class Watchdog:
    """The watchdog of this process. It starts with the first call.

    Args:
        without: environment variables by which others choose processes to end; the watchdog must outlive those.
    """

    def __init__(self, without: Collection[str]) -> None:
        self._without = without
        self._marks: set[str] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def watch(self, mark: str) -> None:
        """From now on, the processes with this mark end with this process. Call it before they start."""
        with self._lock:
            self._marks.add(mark)
            if self._process is None or not self._sent(f"+{mark}"):
                self._start()

    def check(self) -> None:
        """Start the watchdog again if something has ended it."""
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._start()

    def forget(self, mark: str) -> None:
        """The call has ended."""
        with self._lock:
            self._marks.discard(mark)
            self._sent(f"-{mark}")

    def _start(self) -> None:
        environment = {name: value for name, value in os.environ.items() if name not in self._without}
        paths = [str(ROOT), *filter(None, [environment.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "flows.watchdog", *self._marks],
            env=environment | {"PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.PIPE,
            bufsize=0,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C must not end it
        )

    def _sent(self, line: str) -> bool:
        if self._process is None or self._process.stdin is None or self._process.poll() is not None:
            return False
        try:
            self._process.stdin.write(f"{line}\n".encode())
        except BrokenPipeError:
            return False
        return True


def main() -> None:
    """Read lines until the pipe closes, and end the calls that are left."""
    from flows import process  # it needs the class above

    marks = set(sys.argv[1:])
    for line in sys.stdin:
        sign, mark = line[0], line[1:].strip()
        if sign == "+":
            marks.add(mark)
        else:
            marks.discard(mark)
    for mark in marks:
        process.end(mark)


if __name__ == "__main__":
    main()
