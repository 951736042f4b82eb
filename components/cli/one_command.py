"""One command at a time asks models in a folder of state, because the files that count their cost have one writer."""

from __future__ import annotations

import fcntl
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from components.redaction import redacted


class CommandBusy(RuntimeError):
    """Another command asks models in this folder of state."""


@contextmanager
def only_command(state: Path) -> Iterator[None]:
    """Hold the lock of a folder of state, which the kernel releases when the process ends in any way.

    Raises:
        CommandBusy: another command holds it; the message names that command and its process.
    """
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise CommandBusy(
                f"another command asks models about the same files (its state is {state}): "
                f"{lock.read() or 'it has just begun'}. Wait until it ends, or end it; what it paid for is kept"
            ) from error
        lock.truncate(0)
        command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
        lock.write(f"{redacted(command)} (process {os.getpid()})")
        lock.flush()
        yield
