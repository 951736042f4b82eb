"""A Prefect server with a home of its own, and the command line talking to it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Prefect:
    """Processes of Prefect that use one server. They run in `folder`, without one in `home`."""

    def __init__(self, home: Path, port: int, folder: Path | None = None) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home, self.port, self.folder = home, port, folder or home
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
            "PYTHONPATH": str(folder or ROOT),
            "PREFECT_HOME": str(home),
            "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        }

    @contextlib.contextmanager
    def running(self, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
        """A command that runs until the context ends. One that does not end when it is asked is killed."""
        number = len(list(self.home.glob("*.log")))
        with (self.home / f"{arguments[0]}-{number}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "prefect", *arguments],
                cwd=self.folder, env={**self.environment, **environment}, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def run(self, *arguments: str) -> str:
        """Run a command to its end and return what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "prefect", *arguments],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=240,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ask(self, path: str, body: dict | None = None) -> Any:
        """Post to the server's interface; None if it answers without a body."""
        data = json.dumps(body or {}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api{path}", data=data)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or "null")

    def wait_until_healthy(self) -> None:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/health", timeout=2).close()
                return
            except OSError:
                time.sleep(0.5)
        raise AssertionError("the Prefect server did not come up")
