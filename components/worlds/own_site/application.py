"""One process of a user's application with data of its own, which one episode at a time uses."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import psutil

from components.ports import free_port, listeners
from components.worlds.effects import describe
from components.worlds.own_site import supervisor
from components.worlds.own_site.commands import finished
from components.worlds.own_site.http_client import TIMEOUT_S, Client, log_in
from components.worlds.own_site.image import environment, run
from components.worlds.own_site.site_file import JsonRows, OwnSiteError, Request, SiteFile
from components.worlds.own_site.tables import FILES, Rows, Snapshot, copy_of, differences, file_rows, overwrite

STOP_TIMEOUT_S = 10.0
RESET_TIMEOUT_S = 300.0
VERIFY_TIMEOUT_S = 60.0


class Application:
    """A process and its data folder. Its methods block.

    Args:
        site: the parsed `site.yaml`.
        folder: of that file.
        image: the folder with the first data.
    """

    def __init__(self, site: SiteFile, folder: Path, image: Path) -> None:
        self.port = 0
        """Of the running process, on loopback."""
        self._site = site
        self._folder = folder
        self._image = image
        self._own = tempfile.TemporaryDirectory(prefix=f"waymark-{site.name}-")
        self._process: subprocess.Popen[bytes] | None = None
        self._is_given_up = threading.Event()
        self._first: Snapshot | None = None
        """The state after the first start; resets that do not restart must lead back to it."""

    @property
    def data(self) -> Path:
        """The data folder."""
        return Path(self._own.name) / "data"

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    def reset(self, seed: int = 0) -> None:
        """Give the application its first data back; starts it if it does not run.

        Raises:
            OwnSiteError: it does not start, or the reset fails or leaves changes behind.
        """
        reset = self._site.reset
        if reset.restarts or not self.is_running:
            self._restart()
            if reset.restarts:
                return
            self._first = self.snapshot()
        if reset.command:
            run(reset.command, self._environment(SEED=str(seed)), self.data, "reset.command", RESET_TIMEOUT_S)
        if reset.request is not None:
            response = self._send(reset.request)
            if response.status_code >= httpx.codes.BAD_REQUEST:
                raise OwnSiteError(
                    f"reset.request was answered with status {response.status_code}: correct its path and fields"
                )
        for name in reset.sqlite:
            with _named(f"reset.sqlite: {name}", "correct the path in $DATA, or let `prepare` make this database"):
                overwrite(self.data / name, copy_of(self._image / name))
        for name, script in reset.dump.items():
            with _named(f"reset.dump: {script} for {name}", "correct the path beside site.yaml, or the file's SQL"):
                overwrite(self.data / name, _loaded(self._folder / script))
        if not reset.varies and self._first is not None:
            self._require_first(self._first)

    def snapshot(self) -> Snapshot:
        """The current state.

        Raises:
            OwnSiteError: a database or response cannot be read.
        """
        state = self._site.state
        tables: dict[str, Rows] = {name: self._json_rows(name, rows) for name, rows in state.responses.items()}
        if state.files:
            tables[FILES] = file_rows(self.data, state.files)
        try:
            return Snapshot({name: copy_of(self.data / name) for name in state.sqlite}, tables)
        except sqlite3.Error as error:
            raise OwnSiteError(f"state.sqlite: {', '.join(state.sqlite)} in {self.data}: {error}") from error

    def client(self, user: str = "") -> Client:
        """A client for requests as a logged-in person.

        Raises:
            OwnSiteError: the log-in fails.
        """
        client = Client(self._site.address, self.port)
        if user:
            log_in(client, self._site.logins[user])
        return client

    def stray(self) -> None:
        """Make the write of `stray`, which no task asks for.

        Raises:
            OwnSiteError: it fails, or its SQL changes no row.
        """
        stray = self._site.stray
        if isinstance(stray, Request):
            response = self._send(stray)
            if response.status_code >= httpx.codes.BAD_REQUEST:
                raise OwnSiteError(
                    f"stray was answered with status {response.status_code}: correct its path and fields"
                )
        elif stray is not None:
            try:
                path = self.data / self._site.state.sqlite[0]
                with contextlib.closing(sqlite3.connect(path, timeout=10)) as database, database:
                    changed = database.execute(stray).rowcount
            except sqlite3.Error as error:
                raise OwnSiteError(f"stray: {error}") from error
            if changed == 0:
                raise OwnSiteError(f"stray: {stray!r} changes no row: correct its WHERE, so that it finds one")

    def verify(self, command: str) -> str | None:
        """Why a task's `verify` finds the task not done; None if it is done.

        Raises:
            OwnSiteError: it ends with another status than 0 and 1, or takes too long.
        """
        try:
            status, output = finished(command, self._environment(), self.data, VERIFY_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise OwnSiteError(f"verify did not end within {VERIFY_TIMEOUT_S:.0f} s: {command}") from error
        output = output.strip()
        if status not in (0, 1):
            raise OwnSiteError(f"verify ended with status {status}, not 0 or 1:\n{output[-2000:]}")
        return None if status == 0 else (output.splitlines() or ["verify finds the task not done"])[-1]

    def stop(self) -> None:
        """End the process and all of its children."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the supervisor has ended
            process.stdin.write(supervisor.STOPPED)
            process.stdin.close()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.returncode < 0:  # the supervisor was killed and could not end the application
            with contextlib.suppress(ProcessLookupError, FileNotFoundError, ValueError):
                os.killpg(int(self._group_file.read_text()), signal.SIGKILL)
        self._group_file.unlink(missing_ok=True)

    @property
    def _group_file(self) -> Path:
        return Path(self._own.name) / supervisor.GROUP_FILE

    def give_up(self) -> None:
        """Let a start that is under way in another thread fail soon, and each later one."""
        self._is_given_up.set()

    def close(self) -> None:
        """End the process and remove its data. No other thread may use the application.

        Raises:
            OwnSiteError: the data cannot be removed.
        """
        self.stop()
        try:
            self._own.cleanup()
        except OSError as error:
            raise OwnSiteError(
                f"the data of {self._site.name} in {self._own.name} cannot be removed: {error}; end the processes that "
                "use them, and remove the folder"
            ) from error

    def _environment(self, **more: str) -> dict[str, str]:
        return environment(self._site, self._folder, self.data, PORT=str(self.port), **more)

    def _send(self, request: Request) -> httpx.Response:
        return self.client(request.user).send(request)

    def _restart(self) -> None:
        self.stop()
        shutil.rmtree(self.data, ignore_errors=True)
        self._require_wanted()
        self._copy_first_data()
        self._require_wanted()
        self.port = free_port()
        log = Path(self._own.name) / "output.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-S", supervisor.__file__, self._site.start, self._own.name],
                env=self._environment(),
                cwd=self.data,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # the stage handles an interrupt in the terminal
            )
        self._wait_until_ready(log)

    def _require_wanted(self) -> None:
        if self._is_given_up.is_set():
            raise OwnSiteError(f"the site {self._site.name} was stopped while it started")

    def _copy_first_data(self) -> None:
        """Copies the first data without sockets and pipes, which belong to processes that have ended."""
        try:
            shutil.copytree(self._image, self.data, symlinks=True, ignore=_sockets_and_pipes)
        except shutil.Error as error:
            raise self._uncopied([str(reason) for *_, reason in error.args[0]]) from error
        except OSError as error:
            raise self._uncopied([str(error)]) from error

    def _uncopied(self, reasons: Sequence[str]) -> OwnSiteError:
        more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
        return OwnSiteError(
            f"what `prepare` of {self._site.name} made cannot be copied for a process: {reasons[0]}{more}. Let "
            f"`prepare` leave only files that can be read, remove {self._image}, and start again"
        )

    def _wait_until_ready(self, log: Path) -> None:
        deadline = time.monotonic() + self._site.start_timeout_s
        reason = "no answer"
        while time.monotonic() < deadline and self.is_running and not self._is_given_up.is_set():
            left_s = max(deadline - time.monotonic(), 0.01)
            client = Client(self._site.address, self.port, timeout_s=min(TIMEOUT_S, left_s))
            try:
                status = client.get(self._site.ready).status_code
            except OwnSiteError as error:
                reason = str(error)
            else:
                if status < httpx.codes.INTERNAL_SERVER_ERROR:
                    self._require_own_port()
                    if self.is_running:
                        return
                reason = f"status {status}"
            time.sleep(0.02)
        ended = None if self._process is None else self._process.poll()
        self.stop()
        self._require_wanted()
        state = f"ended with status {ended}" if ended is not None else f"is not ready ({reason})"
        output = log.read_text(errors="replace")[-2000:] or "it printed nothing"
        raise OwnSiteError(
            f"the site {self._site.name} {state} after `start` with port {self.port}; its output ends with:\n{output}"
        )

    def _require_own_port(self) -> None:
        """Refuses the answer of processes that began before the application, and so are no part of it. A server that
        the application started need not be its descendant: a container's belongs to the container engine."""
        assert self._process is not None
        with contextlib.suppress(psutil.NoSuchProcess):
            began = psutil.Process(self._process.pid).create_time()
            others = listeners(self.port)
            if others and all(other.create_time() < began for other in others):
                other = others[0]
                self.stop()
                raise OwnSiteError(
                    f"port {self.port}, which {self._site.name} got as $PORT, was taken by process {other.pid} "
                    f"({other.name()}): run again, which takes another port, or end that process"
                )

    def _require_first(self, first: Snapshot) -> None:
        state = self._site.state
        changes = differences(first, self.snapshot(), state.noise, state.keys)
        if changes:
            raise OwnSiteError(
                f"the reset of {self._site.name} does not give its first data back: {describe(changes[0])}. Correct "
                "`reset`, or leave it out, so that the application is restarted; add to state.noise what may differ"
            )

    def _json_rows(self, name: str, rows: JsonRows) -> Rows:
        response = self.client(rows.user).get(rows.get)
        try:
            items = at_place(response.json(), rows.rows)
            keyed = [
                (str(item[rows.key]), {field: json_text(value) for field, value in item.items()}) for item in items
            ]
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise OwnSiteError(
                f"state.json.{name}: {rows.get} (status {response.status_code}) has no list of objects with "
                f"{rows.key!r} at {rows.rows or 'its top'}"
            ) from error
        by_key = dict(keyed)
        if len(by_key) < len(keyed):
            repeated = next(key for key, count in Counter(key for key, _ in keyed).items() if count > 1)
            raise OwnSiteError(
                f"state.json.{name}: two items of {rows.get} have the {rows.key} {repeated}: name a field that "
                "identifies an item with `key`"
            )
        return by_key


def _sockets_and_pipes(folder: str, names: Sequence[str]) -> set[str]:
    modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
    return {name for name, mode in modes.items() if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)}


def at_place(content: Any, place: str) -> Any:
    """The value at a place in JSON, such as `state.items.0`.

    Raises:
        KeyError, TypeError, ValueError, IndexError: there is none.
    """
    for part in filter(None, place.split(".")):
        content = content[int(part)] if isinstance(content, list) else content[part]
    return content


def json_text(value: Any) -> str | None:
    """The text of a value in JSON, with which rules compare it: a text as it is, anything else as JSON writes it."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


@contextlib.contextmanager
def _named(place: str, remedy: str) -> Iterator[None]:
    """Names the place and the remedy in an error of a database or a file."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise OwnSiteError(f"{place}: {error}; {remedy}") from error


def _loaded(script: Path) -> bytes:
    """The database that an SQL file makes."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.executescript(script.read_text())
        return database.serialize()
