"""A process that serves the city's image, and the client of its control interface."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from components.records import RowChange
from components.worlds.city.image import CityError, environment, find_python

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0
CONTROL_TIMEOUT_S = 60.0


class LostError(CityError):
    """The server has no such copy, because its process ended and another one has taken its place."""


class Held(NamedTuple):
    """What a server keeps of its episodes."""

    copies: int
    snapshots: int


class CityServer:
    """The running server; `World.site()` serves its pages. Its methods block and may be called from any thread.

    If the process dies, `require_running` starts another one on the same ports, since a browser keeps the addresses
    that it was started with. All copies of the dead process are lost.

    Args:
        image: the folder that `image.ensure` gives.

    Raises:
        CityError: it did not start.
    """

    def __init__(self, image: Path) -> None:
        self.generation = 0
        """Number of processes that have been started after the first."""
        self._image = image
        self._lock = threading.Lock()
        self._ports = (0, 0)
        self._process = self._start()

    @property
    def port(self) -> int:
        """The pages' port on loopback."""
        return self._ports[0]

    @property
    def control_port(self) -> int:
        """The control interface's port on loopback."""
        return self._ports[1]

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process.poll() is None

    def require_running(self) -> None:
        """Start another process if this one has died.

        Raises:
            CityError: it did not start.
        """
        with self._lock:
            if not self.is_running:
                self._close()
                self._process = self._start()
                self.generation += 1

    def reset(self, seed: int, modifiers: tuple[str, ...] = (), logins: dict[str, str] | None = None) -> dict[str, Any]:
        """A fresh copy: its `key`, and the `cookies` of users who are logged in, by host.

        Raises:
            CityError: the server refused, such as an unknown modifier or user.
            LostError: the process died.
        """
        return self._control("reset", seed=seed, modifiers=[*modifiers], logins=logins or {})

    def fork(self, key: str) -> str:
        """The key of a new copy with the data of a copy or snapshot. Raises as `reset`."""
        return self._control("fork", key=key)["key"]

    def snapshot(self, key: str) -> str:
        """The key of a snapshot of a copy. Raises as `reset`."""
        return self._control("snapshot", key=key)["key"]

    def drop(self, key: str) -> None:
        """Forget a copy or a snapshot. Raises as `reset`."""
        self._control("drop", key=key)

    def query(self, key: str, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        """The rows of a statement that only reads. Raises as `reset`."""
        return self._control("query", key=key, sql=sql, parameters=[*parameters])

    def diff(self, before: str, after: str) -> list[RowChange]:
        """The rows that differ between two copies or snapshots, without the declared noise. Raises as `reset`."""
        return [RowChange.model_validate(row) for row in self._control("diff", before=before, after=after)]

    def opened(self, key: str) -> list[str]:
        """The addresses of the pages that a copy has shown, as `host/path`, each once, sorted. Raises as `reset`."""
        return self._control("opened", key=key)

    def execute(self, key: str, sql: str) -> None:
        """Change a copy's data by a statement; for checks of what a task's verdict says of it. Raises as `reset`."""
        self._control("execute", key=key, sql=sql)

    def database(self, key: str) -> bytes:
        """The whole database of a copy or snapshot. Raises as `reset`."""
        return base64.b64decode(self._control("database", key=key)["database"])

    def count(self) -> Held:
        """The numbers of copies and of snapshots. Raises as `reset`."""
        return Held(**self._control("count"))

    def stop(self) -> None:
        """End the process."""
        self._close()

    def _control(self, command: str, **arguments: Any) -> Any:
        try:
            response = self._client.post(f"/{command}", json=arguments)
        except httpx.HTTPError as error:
            raise LostError(f"the city's server does not answer: {type(error).__name__}: {error}") from error
        answer = response.json()
        if response.status_code == httpx.codes.NOT_FOUND:
            raise LostError(f"the city's server: {answer['error']}")
        if response.status_code != httpx.codes.OK:
            raise CityError(f"the city's server refused {command}: {answer['error']}")
        return answer

    def _start(self) -> subprocess.Popen[str]:
        port, control_port = self._ports
        process = subprocess.Popen(
            [
                *(str(find_python()), "-m", "city.serving", str(self._image)),
                *(f"--port={port}", f"--control-port={control_port}"),
            ],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # the stage handles an interrupt in the terminal
        )
        killer = threading.Timer(START_TIMEOUT_S, process.kill)
        killer.start()
        began = time.monotonic()
        assert process.stdout is not None
        line = process.stdout.readline()
        killer.cancel()
        if not line:
            process.kill()
            process.wait()
            raise CityError(
                f"the city's server ended {time.monotonic() - began:.0f} s after its start, with status "
                f"{process.returncode}; its error is above"
            )
        ready = json.loads(line)
        self._ports = ready["port"], ready["control_port"]
        self._client = httpx.Client(
            base_url=f"http://127.0.0.1:{ready['control_port']}",
            headers={"Authorization": f"Bearer {ready['token']}"},
            timeout=CONTROL_TIMEOUT_S,
            trust_env=False,
        )
        return process

    def _close(self) -> None:
        self._client.close()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()  # which ends it
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
