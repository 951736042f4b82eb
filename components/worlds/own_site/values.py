"""The values of a template's parameters and of its answers, from lists, ranges and SQL."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from typing import Any

from components.worlds.own_site.site_file import OwnSiteError
from components.worlds.own_site.tables import query
from components.worlds.own_site.task_file import AnswerRule, Query, Range, Values
from components.worlds.own_site.texts import Facts, formatted


def choices_of(place: str, values: Values, database: bytes | None) -> list[Any]:
    """The different values of a parameter; a row with one column is its value.

    Args:
        place: of the parameter in `site.yaml`, for the error.
        database: a copy of the first database; None if the site has none.

    Raises:
        OwnSiteError: there is none, or the SQL is wrong.
    """
    match values:
        case Range(first=first, last=last):
            chosen: list[Any] = [*range(first, last + 1)]
        case Query(sql=sql):
            rows = _rows(place, sql, {}, database)
            if any(None in row.values() for row in rows):
                raise OwnSiteError(
                    f"{place}: {sql!r} finds a row without a value (NULL); leave such rows out in the SQL"
                )
            chosen = [next(iter(row.values())) if len(row) == 1 else row for row in rows]
        case _:
            chosen = [*values]
    if not chosen:
        remedy = (
            "its SQL finds no row in the first data: correct it, or let `prepare` make such rows"
            if isinstance(values, Query)
            else "give it at least one"
        )
        raise OwnSiteError(f"{place} has no values; {remedy}")
    return [*{repr(value): value for value in chosen}.values()]  # equal values would make the same task twice


def answer_of(rule: AnswerRule, facts: Facts, database: bytes | None) -> dict[str, Any]:
    """The parameters of the right answer, by its kind.

    Raises:
        OwnSiteError: the SQL is wrong, or finds no value of this kind.
        ValueError: a text names a parameter that does not exist.
    """

    def texts(value: list[str] | Query) -> list[str]:
        if isinstance(value, Query):
            cells = [next(iter(row.values())) for row in _rows("answer", value.sql, facts, database)]
            if None in cells:
                raise OwnSiteError(
                    f"answer: {value.sql!r} finds a row without a value (NULL); leave such rows out in the SQL"
                )
            return [format(Decimal(f"{cell:.15g}"), "f") if isinstance(cell, float) else str(cell) for cell in cells]
        return [formatted(text, facts) for text in value]

    if rule.number is not None:
        values = texts(rule.number) if isinstance(rule.number, Query) else [formatted(str(rule.number), facts)]
        if len(values) != 1 or not is_number(values[0]):
            raise OwnSiteError(f"answer.number must be one number, not {values!r}")
        return {"number": values[0]}
    if rule.phrase is not None:
        return {"phrase": _some("phrase", texts(rule.phrase)), "wrong": texts(rule.wrong)}
    if rule.names is not None:
        return {"names": _some("names", texts(rule.names)), "among": texts(rule.among)}
    return {"refusal": _some("refusal", texts(rule.refusal or []))}


def _some(kind: str, values: list[str]) -> list[str]:
    if not values:
        raise OwnSiteError(f"answer.{kind} is empty: give at least one value")
    return values


def _rows(place: str, sql: str, facts: Facts, database: bytes | None) -> list[dict[str, Any]]:
    if database is None:
        raise OwnSiteError(f"{place} is SQL, but state.sqlite names no database")
    try:
        rows = query(database, sql, dict(_flat(facts)))
    except sqlite3.Error as error:
        raise OwnSiteError(f"{place}: {error} in {sql!r}, on the database that `prepare` made") from error
    column = next((column for row in rows for column, value in row.items() if isinstance(value, bytes)), None)
    if column is not None:
        raise OwnSiteError(
            f"{place}: {sql!r} finds bytes (a BLOB) in {column}; convert them in the SQL, by hex({column}) or "
            f"CAST({column} AS TEXT)"
        )
    return rows


def _flat(facts: Facts) -> list[tuple[str, Any]]:
    """Parameters as SQL names: `ticket_title` for the column `title` of `ticket`."""
    flat: list[tuple[str, Any]] = []
    for name, value in facts.items():
        flat += (
            [(f"{name}_{column}", part) for column, part in value.items()]
            if isinstance(value, dict)
            else [(name, value)]
        )
    return flat


def flat_values(facts: Facts) -> list[Any]:
    """The values of the parameters, each column of a row for itself."""
    return [value for _, value in _flat(facts)]


def is_number(value: object) -> bool:
    """Whether the value is a number, or a text of one."""
    try:
        float(str(value))
    except ValueError:
        return False
    return True
