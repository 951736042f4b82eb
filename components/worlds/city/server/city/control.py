"""The control interface: copies are made, forked, dropped, read and compared over HTTP, on a port of its own.

Every request is a POST of JSON with the header `Authorization: Bearer TOKEN`; the token is told to the parent process
alone. The agent's browser reaches neither the port (the egress guard refuses it) nor the token.
"""

from __future__ import annotations

import base64
import hmac
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from city import sites
from city.copies import Copies, UnknownCopyError
from city.differences import differences, with_joined
from city.sessions import log_in

Environ = dict[str, Any]


class Control:
    """The WSGI application of the control interface. The path names the command."""

    def __init__(self, copies: Copies, token: str) -> None:
        self._token = token
        self._copies = copies
        self._commands: dict[str, Callable[..., Any]] = {
            "/reset": self.reset,
            "/fork": self.fork,
            "/snapshot": self.snapshot,
            "/drop": self.drop,
            "/query": self.query,
            "/execute": self.execute,
            "/diff": self.diff,
            "/opened": self.opened,
            "/database": self.database,
            "/count": self.count,
        }

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request with JSON; errors have the key `error`."""
        status, answer = self._answer(environ)
        body = json.dumps(answer).encode()
        start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    def _answer(self, environ: Environ) -> tuple[str, Any]:
        if not hmac.compare_digest(environ.get("HTTP_AUTHORIZATION", ""), f"Bearer {self._token}"):
            return "403 Forbidden", {"error": "the token is wrong"}
        command = self._commands.get(environ.get("PATH_INFO", ""))
        if command is None:
            return "404 Not Found", {"error": f"there are {', '.join(self._commands)}"}
        try:
            arguments = json.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)) or b"{}")
            return "200 OK", command(**arguments)
        except UnknownCopyError as error:
            return "404 Not Found", {"error": str(error.args[0])}
        except (ValueError, TypeError, sqlite3.Error) as error:
            return "400 Bad Request", {"error": f"{type(error).__name__}: {error}"}

    def reset(
        self, seed: int, modifiers: Sequence[str] = (), logins: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """A fresh copy.

        Args:
            logins: user names by host.

        Returns:
            the copy's key, and the cookies that log these users in, by host.
        """
        copy = self._copies.reset(seed, modifiers)
        try:
            return {"key": copy.key, "cookies": {host: log_in(copy, user) for host, user in (logins or {}).items()}}
        except Exception:
            self._copies.drop(copy.key)
            raise

    def fork(self, key: str) -> dict[str, str]:
        """A copy of a copy or of a snapshot."""
        return {"key": self._copies.fork(key).key}

    def snapshot(self, key: str) -> dict[str, str]:
        """A snapshot of a copy."""
        return {"key": self._copies.snapshot(key)}

    def drop(self, key: str) -> dict[str, str]:
        """Forget a copy or a snapshot."""
        self._copies.drop(key)
        return {}

    def query(self, key: str, sql: str, parameters: list[Any] | None = None) -> list[dict[str, Any]]:
        """The rows of a statement, which may only read."""
        database = self._opened(key)
        database.row_factory = sqlite3.Row
        try:
            database.execute("PRAGMA query_only = ON")
            return [dict(row) for row in database.execute(sql, parameters or [])]
        finally:
            database.close()

    def execute(self, key: str, sql: str) -> dict[str, int]:
        """Run a statement that changes a copy; returns how many rows it changed."""
        copy = self._copies.find(key)
        with copy.bound("execute"):
            return {"rows": copy.connection.execute(sql).rowcount}

    def diff(self, before: str, after: str, noise: bool = False) -> list[Any]:
        """The rows that differ between two copies or snapshots.

        Args:
            noise: whether rows and columns that change by themselves are listed too.
        """
        tables = [] if noise else [table for site in sites.found() for table in site.NOISE_TABLES]
        columns: dict[str, list[str]] = {}
        for site in [] if noise else sites.found():
            for table, names in site.NOISE_COLUMNS.items():
                columns.setdefault(table, []).extend(names)
        rows = differences(self._copies.database(before), self._copies.database(after), tables, columns)
        joined = {table: more for site in sites.found() for table, more in getattr(site, "JOINED_COLUMNS", {}).items()}
        return list(with_joined(rows, self._copies.database(after), joined))

    def opened(self, key: str) -> list[str]:
        """The addresses of the pages that a copy has shown, as `host/path`, each once, sorted. Before that of a
        page that is not there, or that the user may not see, its status stands: `404 host/path`."""
        return sorted(self._copies.find(key).opened)

    def database(self, key: str) -> dict[str, str]:
        """The whole database, in base64."""
        return {"database": base64.b64encode(self._copies.database(key)).decode()}

    def count(self) -> dict[str, int]:
        """The numbers of copies and of snapshots."""
        copies, snapshots = self._copies.count()
        return {"copies": copies, "snapshots": snapshots}

    def _opened(self, key: str) -> sqlite3.Connection:
        database = sqlite3.connect(":memory:")
        database.deserialize(self._copies.database(key))
        return database
