"""Rows of the bound copy's database by plain SQL, which is ten times as fast as Django's models."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from django.db import connection

Row = dict[str, Any]


def select(sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
    """The rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]


def execute(sql: str, parameters: Sequence[Any] = ()) -> None:
    """Run a statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def update(table: str, rows: Iterable[Row], key: str = "id") -> None:
    """Change the named columns of the rows with these keys; all rows name the same columns, the key's among them."""
    rows = list(rows)
    if rows:
        columns = [name for name in rows[0] if name != key]
        changes = ", ".join(f'"{name}" = %s' for name in columns)
        with connection.cursor() as cursor:
            cursor.executemany(
                f'UPDATE "{table}" SET {changes} WHERE "{key}" = %s',
                [[_plain(row[name]) for name in (*columns, key)] for row in rows],
            )


def replace(table: str, rows: Iterable[Row]) -> None:
    """Make these the only rows of a table, with ids from 1 on. A column that they do not name is as in its first row.

    Raises:
        ValueError: the table is empty, so that the other columns are unknown.
    """
    template = select(f'SELECT * FROM "{table}" ORDER BY id LIMIT 1')
    if not template:
        raise ValueError(f"{table} is empty in the image: seed at least one row there")
    base = {name: _plain(value) for name, value in template[0].items()}
    names, places = ", ".join(f'"{name}"' for name in base), ", ".join(["%s"] * len(base))
    filled = [
        {**base, "id": number, **{name: _plain(value) for name, value in row.items()}}
        for number, row in enumerate(rows, start=1)
    ]
    with connection.cursor() as cursor:
        cursor.execute(f'DELETE FROM "{table}"')
        cursor.executemany(f'INSERT INTO "{table}" ({names}) VALUES ({places})', [[*row.values()] for row in filled])


def moment(value: dt.datetime) -> dt.datetime:
    """A time as a query gives it, with the time zone in which it is held."""
    return value.replace(tzinfo=dt.UTC)


def _plain(value: Any) -> Any:
    """A value as Django writes it into SQLite."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat(" ", "seconds")
    return str(value) if isinstance(value, Decimal) else value
