"""The state of an application as tables of rows, and the rows that differ between two moments."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path

from components.records import RowChange
from components.worlds.own_site.site_file import OwnSiteError

Row = dict[str, str | None]
Rows = dict[str, Row]
"""The rows of one table by key."""
Cell = str | int | float | bytes | None
"""A value of a database."""
FILES = "files"
"""The table of files."""
_WAL, _NO_WAL = b"\x02\x02", b"\x01\x01"
"""Bytes 18 and 19 of a database with a write-ahead log, and of one without (SQLite's file format, section 1.3)."""
LOCKED_S = 10.0
"""So long a copy waits for an application that keeps its database locked."""
MAX_TEXT = 20_000
"""Characters of a file or value that are kept; the digest of a longer one stands for its rest."""


@dataclass(frozen=True)
class Snapshot:
    """The state at one moment.

    Attributes:
        databases: copies of the databases, by their paths in the data folder.
        tables: the rows of everything else, by table.
    """

    databases: Mapping[str, bytes] = field(default_factory=dict)
    tables: Mapping[str, Rows] = field(default_factory=dict)


def copy_of(database: Path) -> bytes:
    """A consistent copy of a SQLite database that another process may write at this moment.

    Raises:
        sqlite3.Error: it is no database, or it stays locked.
    """
    address = f"{database.absolute().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=LOCKED_S)) as source,
        closing(sqlite3.connect(":memory:")) as copy,
    ):
        _back_up(source, copy)
        content = copy.serialize()
    if content[18:20] == _WAL:  # a copy in memory has no file for a log
        return content[:18] + _NO_WAL + content[20:]
    return content


def overwrite(database: Path, content: bytes) -> None:
    """Gives a database the content of a copy, while an application has it open. Raises as `copy_of`."""
    with closing(sqlite3.connect(":memory:")) as copy, closing(sqlite3.connect(database, timeout=LOCKED_S)) as target:
        copy.deserialize(content)
        _back_up(copy, target)


def _back_up(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy a database. SQLite's own copy tries for ever while another process keeps one of the two locked."""
    ends = time.monotonic() + LOCKED_S

    def give_up(status: int, remaining: int, total: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > ends:
            raise sqlite3.OperationalError(f"the database stays locked for {LOCKED_S:g} s")

    source.backup(target, progress=give_up, sleep=0.05)


def file_rows(folder: Path, patterns: Sequence[str]) -> Rows:
    """The files that match, by path: `path`, and `text`, which is the digest of a file that is no text."""
    rows: Rows = {}
    for path in sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}):
        with contextlib.suppress(FileNotFoundError):  # the application has renamed or removed it since
            name = str(path.relative_to(folder))
            rows[name] = {"path": name, "text": _text(path.read_bytes())}
    return rows


def differences(
    before: Snapshot, after: Snapshot, noise: Sequence[str] = (), keys: Mapping[str, Sequence[str]] = {}
) -> list[RowChange]:
    """The rows that differ, ordered by table and key.

    Args:
        noise: patterns of tables, and of columns as `table.column`, that do not count.
        keys: columns that identify a row, by table; the primary key by default. Rows that have these columns in common
            are compared as a group: each that is gone, new or changed is a change of its own.

    Raises:
        OwnSiteError: a table lacks a column of `keys`.
    """
    changes: list[RowChange] = []
    for name, content in after.databases.items():
        changes += _of_databases(before.databases[name], content, _prefix(name, after.databases), noise, keys)
    for table, rows in after.tables.items():
        old = before.tables.get(table, {})
        changed = [key for key in sorted({*old, *rows}) if old.get(key) != rows.get(key)]
        changes += [RowChange(table=table, key=key, before=old.get(key), after=rows.get(key)) for key in changed]
    return [kept for change in changes if (kept := _without(change, noise)) is not None]


def columns_of(state: Snapshot) -> dict[str, list[str] | None]:
    """The columns of each table of a state; None for those of JSON, whose items may have different fields."""
    columns: dict[str, list[str] | None] = {
        table: ["path", "text"] if table == FILES else None for table in state.tables
    }
    for name, content in state.databases.items():
        prefix = _prefix(name, state.databases)
        with closing(sqlite3.connect(":memory:")) as database:
            database.deserialize(content)
            columns |= {f"{prefix}{table}": [*_columns(database, "main", table)] for table in _tables(database, "main")}
    return columns


def query(content: bytes, sql: str, parameters: Mapping[str, object]) -> list[dict[str, Cell]]:
    """The rows of a SELECT statement on a copy of a database.

    Raises:
        sqlite3.Error: the statement is wrong.
    """
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(content)
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute(sql, dict(parameters))]


def _prefix(name: str, databases: Mapping[str, bytes]) -> str:
    """Of the names of a database's tables."""
    return "" if len(databases) == 1 else f"{Path(name).stem}:"


def _of_databases(
    before: bytes, after: bytes, prefix: str, noise: Sequence[str], keys: Mapping[str, Sequence[str]]
) -> list[RowChange]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.text_factory = lambda raw: raw.decode(errors="replace")
        database.deserialize(before)
        database.execute("ATTACH ':memory:' AS later")
        database.deserialize(after, name="later")
        changes: list[RowChange] = []
        for table in sorted({*_tables(database, "main"), *_tables(database, "later")}):
            if not _is_noise(f"{prefix}{table}", noise):
                changes += _of_table(database, table, f"{prefix}{table}", keys.get(f"{prefix}{table}", ()), noise)
        return changes


def _tables(database: sqlite3.Connection, schema: str) -> list[str]:
    """Tables with rows of their own, without those of full-text indexes and SQLite."""
    listed = database.execute(
        f"SELECT name FROM {schema}.pragma_table_list WHERE schema = ? AND type = 'table'", (schema,)
    )
    return [name for (name,) in listed if not name.startswith("sqlite_")]


def _of_table(
    database: sqlite3.Connection, table: str, shown: str, own_keys: Sequence[str], noise: Sequence[str]
) -> list[RowChange]:
    info = {schema: _columns(database, schema, table) for schema in ("main", "later")}
    both = [name for name in info["later"] if name in info["main"]] or [*info["main"], *info["later"]]
    if unknown := [name for name in own_keys if name not in both]:
        raise OwnSiteError(f"state.keys.{shown}: {unknown[0]} is no column of the table, which has {', '.join(both)}")
    keys = [*own_keys] or [name for name in both if (info["later"] or info["main"])[name]] or ["rowid"]
    both = [name for name in both if not _is_noise(f"{shown}.{name}", noise)]
    selected = ", ".join(f"{_quoted(name)} COLLATE BINARY" for name in [*keys, *both])  # NOCASE hides changes of case
    old, new = (
        Counter({row[:-1]: row[-1] for row in database.execute(statement)} if statement else {})
        for statement in (
            _only_in(table, selected, "main", "later", info, bool(own_keys)),
            _only_in(table, selected, "later", "main", info, bool(own_keys)),
        )
    )
    gone, added = (_by_key(rows, len(keys)) for rows in (old - new, new - old))
    return [
        RowChange(
            table=shown,
            key=",".join(str(_shown(part)) for part in key),
            before=_row(both, before),
            after=_row(both, after),
        )
        for key in sorted({*gone, *added}, key=lambda parts: [str(part) for part in parts])
        for before, after in zip_longest(gone.get(key, []), added.get(key, []))
    ]


def _by_key(rows: Counter[tuple[object, ...]], length: int) -> dict[tuple[object, ...], list[tuple[object, ...]]]:
    """The rows, whose first `length` values are their key, by key; equal rows as often as they occur."""
    by_key: dict[tuple[object, ...], list[tuple[object, ...]]] = {}
    for row in rows.elements():
        by_key.setdefault(row[:length], []).append(row[length:])
    return by_key


def _columns(database: sqlite3.Connection, schema: str, table: str) -> dict[str, int]:
    """The columns, each with its place in the primary key, or 0; empty if there is no such table."""
    info = database.execute(f"PRAGMA {schema}.table_info({_quoted(table)})")
    return {name: position for _, name, *_, position in info}


def _only_in(
    table: str, selected: str, here: str, other: str, info: Mapping[str, Mapping[str, int]], repeated: bool
) -> str:
    """The statement for the rows of one schema, each with its number, that the other has not or not as often.

    Args:
        repeated: rows may be equal, so they are counted.
    """
    if not info[here]:
        return ""
    number, groups = ("COUNT(*)", f" GROUP BY {selected}") if repeated else ("1", "")
    rows, others = (f"SELECT {selected}, {number} FROM {schema}.{_quoted(table)}{groups}" for schema in (here, other))
    return f"{rows} EXCEPT {others}" if info[other] else rows


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _row(columns: Sequence[str], values: tuple[object, ...] | None) -> Row | None:
    return None if values is None else {name: _shown(value) for name, value in zip(columns, values, strict=True)}


def _shown(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return _text(value) if isinstance(value, bytes) else str(value)


def _text(content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = ""
    if "\0" in text or (content and not text):
        return f"{len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}"
    if len(text) > MAX_TEXT:
        return f"{text[:MAX_TEXT]}… SHA-256 {hashlib.sha256(content).hexdigest()}"
    return text


def _is_noise(name: str, noise: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in noise)


def _without(change: RowChange, noise: Sequence[str]) -> RowChange | None:
    """The change without columns that do not count; None if nothing is left of it."""
    if _is_noise(change.table, noise):
        return None

    def kept(row: Row | None) -> Row | None:
        if row is None:
            return None
        return {name: value for name, value in row.items() if not _is_noise(f"{change.table}.{name}", noise)}

    before, after = kept(change.before), kept(change.after)
    return None if before == after else change.model_copy(update={"before": before, "after": after})
