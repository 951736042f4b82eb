"""The rows that differ between two databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypedDict


class RowDifference(TypedDict):
    """One row: `before` is None if it was added, `after` if it was removed. Values are text, or None for NULL."""

    table: str
    key: str
    before: dict[str, str | None] | None
    after: dict[str, str | None] | None


def differences(
    before: bytes, after: bytes, noise_tables: Collection[str] = (), noise_columns: Mapping[str, Collection[str]] = {}
) -> list[RowDifference]:
    """The differences of two databases with the same tables, ordered by table and key.

    Args:
        before, after: SQLite databases as bytes.
        noise_tables: patterns of tables that do not count, such as `django_session`.
        noise_columns: columns that do not count, by table pattern.
    """
    database = sqlite3.connect(":memory:")
    try:
        database.deserialize(before)
        database.execute("ATTACH ':memory:' AS later")
        database.deserialize(after, name="later")
        rows: list[RowDifference] = []
        for table in _tables(database):
            if not any(fnmatchcase(table, pattern) for pattern in noise_tables):
                rows += _of_table(database, table, _ignored(table, noise_columns))
        return rows
    finally:
        database.close()


def with_joined(
    rows: Sequence[RowDifference], after: bytes, joined: Mapping[str, Mapping[str, str]]
) -> list[RowDifference]:
    """The differences, in which added rows also have columns that are kept in other tables.

    Rows are not compared by these columns, or a cart that is ordered would change each of its lines.

    Args:
        after: the later database.
        joined: queries by table and name of the new column; each uses the columns of the row.
    """
    database = sqlite3.connect(":memory:")
    try:
        database.deserialize(after)
        return [_with_joined(database, row, joined.get(row["table"], {})) for row in rows]
    finally:
        database.close()


def _with_joined(database: sqlite3.Connection, row: RowDifference, joined: Mapping[str, str]) -> RowDifference:
    if not joined or row["before"] is not None or row["after"] is None:
        return row
    selected = ", ".join(f'({query}) AS "{name}"' for name, query in joined.items())
    conditions = " AND ".join(f'"{name}" = ?' for name in _keys(database, row["table"]))
    query = f'SELECT {selected} FROM "{row["table"]}" WHERE {conditions}'
    values = database.execute(query, row["key"].split(",")).fetchone()
    more = _row([*joined], values) or {}
    return RowDifference(table=row["table"], key=row["key"], before=None, after=row["after"] | more)


def _tables(database: sqlite3.Connection) -> list[str]:
    """Tables with rows of their own, without those of full-text indexes and SQLite."""
    query = (
        "SELECT name FROM main.pragma_table_list WHERE schema = 'main' AND type = 'table' "
        "AND name NOT LIKE 'sqlite%' ORDER BY name"
    )
    return [name for (name,) in database.execute(query)]


def _ignored(table: str, noise_columns: Mapping[str, Collection[str]]) -> set[str]:
    return {column for pattern, columns in noise_columns.items() if fnmatchcase(table, pattern) for column in columns}


def _of_table(database: sqlite3.Connection, table: str, ignored: set[str]) -> list[RowDifference]:
    info = database.execute(f'PRAGMA main.table_info("{table}")').fetchall()
    columns = [name for _, name, *_ in info if name not in ignored]
    keys = _keys(database, table)
    selected = ", ".join(f'"{name}"' for name in [*keys, *columns])
    old, new = (
        {row[: len(keys)]: row[len(keys) :] for row in database.execute(_only_in(table, selected, here, other))}
        for here, other in (("main", "later"), ("later", "main"))
    )
    return [
        RowDifference(
            table=table,
            key=",".join(str(part) for part in key),
            before=_row(columns, old.get(key)),
            after=_row(columns, new.get(key)),
        )
        for key in sorted({*old, *new}, key=lambda parts: [str(part) for part in parts])
    ]


def _keys(database: sqlite3.Connection, table: str) -> list[str]:
    """The columns of the primary key."""
    info = database.execute(f'PRAGMA main.table_info("{table}")').fetchall()
    return [name for _, name, *_, position in sorted(info, key=lambda row: row[-1]) if position] or ["rowid"]


def _only_in(table: str, selected: str, here: str, other: str) -> str:
    return f'SELECT {selected} FROM {here}."{table}" EXCEPT SELECT {selected} FROM {other}."{table}"'


def _row(columns: list[str], values: tuple[object, ...] | None) -> dict[str, str | None] | None:
    if values is None:
        return None
    return {name: None if value is None else str(value) for name, value in zip(columns, values, strict=True)}
