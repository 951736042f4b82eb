"""Operating-system processes of the servers: their end, their ports, and their logs."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

POLL_S = 0.1
STOP_TIMEOUT_S = 20.0
LOG_LINES = 40
"""Last lines of a log that an error message shows."""


async def wait_for_end(process: subprocess.Popen[bytes] | None, within_s: float = math.inf) -> bool:
    """Wait for at most `within_s` seconds for the end of a process. Returns whether it ended."""
    end = time.monotonic() + within_s
    while process is not None and process.poll() is None:
        if time.monotonic() > end:
            return False
        await asyncio.sleep(POLL_S)
    return True


def stop(process: subprocess.Popen[bytes] | None) -> None:
    """Stop a server and its workers with SIGTERM, and after `STOP_TIMEOUT_S` with SIGKILL."""
    if process is None:
        return
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_TIMEOUT_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def reserved_port() -> socket.socket:
    """A socket that holds a port of 127.0.0.1. Connections to it are refused until a process listens on the socket."""
    reserved = socket.socket()
    reserved.bind(("127.0.0.1", 0))
    return reserved


def log_tail(log: Path) -> str:
    """The last lines of a log."""
    lines: Sequence[str] = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join(lines[-LOG_LINES:]) or "it printed nothing"
