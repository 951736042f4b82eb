"""Runs one of a site's commands to its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path


def finished(command: str, variables: Mapping[str, str], folder: Path, timeout_s: float) -> tuple[int, str]:
    """The exit status of a command, and what it printed. Processes that it leaves in the background go on.

    Raises:
        subprocess.TimeoutExpired: it took longer; the shell and all processes of its group are ended.
    """
    with tempfile.TemporaryFile() as output:  # a pipe would end with the last process in the background
        process = subprocess.Popen(
            ["/bin/sh", "-e", "-c", command],
            env=variables,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        with process:
            try:
                process.wait(timeout_s)
            except BaseException:  # an interrupt in the terminal does not reach the new session either
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace")
