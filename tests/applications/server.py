"""Runs a real application in a process of its own: on a loopback port, with a fresh folder, stopped by its id."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from components.ports import free_port
from tests.applications.steps import Step

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-apps/bin/python"
"""The Python of the applications' environment, which `make apps` makes."""
needs_apps = pytest.mark.skipif(not PYTHON.exists(), reason="the applications are not installed: make apps")
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 10.0


class StartError(RuntimeError):
    """An application did not start; the message ends with its output."""


@dataclass(frozen=True)
class Running:
    """An application that runs, or is about to."""

    folder: Path
    """Its state, and nothing else's."""
    port: int

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Application:
    """What is started, driven and checked. `sites` has a module for each, with an instance named APPLICATION."""

    command: Callable[[Running], Sequence[str]]
    """The server's command line; it runs until it is stopped."""
    journey: tuple[Step, ...]
    check: Callable[[Running], None]
    """Asserts the state of the server after the journey, from its database or its API."""
    prepare: Callable[[Running], Sequence[Sequence[str]]] = lambda running: ()
    """Commands that end, before the server starts: its tables and its data."""
    seed: Callable[[Running], None] = lambda running: None
    """Data that is sent to the server once it runs."""
    environment: Callable[[Running], Mapping[str, str]] = lambda running: {}
    code: Path | None = None
    """Folder of the application's own code, which is imported from there."""
    ready: str = "/"
    """A path that answers when the server has started."""
    start: str = "/"
    """The path at which the journey starts."""


@contextlib.contextmanager
def serve(application: Application, folder: Path) -> Iterator[Running]:
    """Start an application with its state in a folder; stop it on exit.

    Raises:
        StartError: it did not answer within `START_TIMEOUT_S`.
    """
    running = Running(folder, free_port())
    environment = _environment(application, running)
    log = folder / "output.log"
    with log.open("wb") as output:
        for command in application.prepare(running):
            finished = subprocess.run(
                command, env=environment, cwd=folder, stdout=output, stderr=output, timeout=START_TIMEOUT_S, check=False
            )
            if finished.returncode:
                raise StartError(f"{command} failed:\n{_tail(log)}")
        process = subprocess.Popen(
            application.command(running),
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _wait_until_ready(process, running.origin + application.ready, log)
        application.seed(running)
        yield running
    finally:
        _stop(process)


def _environment(application: Application, running: Running) -> dict[str, str]:
    """Only what the process needs: its home is its folder, so that it reads no settings of this user."""
    home = running.folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    path = [str(application.code)] if application.code else []
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "NO_PROXY": "127.0.0.1,localhost",
        "PYTHONPATH": os.pathsep.join(path),
        "STATE": str(running.folder),
        **application.environment(running),
    }


def _wait_until_ready(process: subprocess.Popen, url: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise StartError(f"the server ended with status {process.returncode}:\n{_tail(log)}")
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(url, timeout=10, trust_env=False).status_code < 500:
                return
        time.sleep(0.1)
    raise StartError(f"{url} did not answer within {START_TIMEOUT_S:.0f} s:\n{_tail(log)}")


def _stop(process: subprocess.Popen) -> None:
    """End the process and all of its session, such as the kernels of notebooks."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_TIMEOUT_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(STOP_TIMEOUT_S)


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:]
