"""What is published of the rows that an episode changed: the columns that changed, without passwords and keys.

A world's check has whole rows, and the rows of accounts have hashes of passwords, session keys and tokens. Such columns
are known by their names only, and so are the keys of a column that holds JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from components.records import RowChange, StateCheck
from components.redaction import MARK

Row = Mapping[str, str | None]
_SECRET = re.compile(
    r"passw|passphrase|passcode|secret(?!ar)|token|credential|cookie|csrf|session_?(?:id|key|data)"
    r"|(?:access|activation|anonymous|api|auth|confirmation|encryption|invitation|login|private|recovery|registration"
    r"|reset|signing)[ _-]?(?:code|key)"
    r"|(?<![a-z])(?:jwt|otp|pin|pw|pwd|salt|totp)(?![a-z])",
    re.IGNORECASE,
)
"""In the name of a column, or of a table whose rows are secrets."""
_VALUE = re.compile(r"code|data|digest|hash|key|value", re.IGNORECASE)
"""The names of columns that hold the secret in a table of secrets, such as `authtoken_token.key`."""


def public_check(check: StateCheck) -> StateCheck:
    """A check whose changes have the changed columns only, with `***` in place of secrets; its sentences end at a
    secret column."""
    changes = [_public_change(change) for change in check.changes]
    hidden = {name for change in check.changes for name in _secret_columns(change) | _columns_with_secrets(change)}
    keys = {
        f"row {original.key} of {original.table} ": f"row {public.key} of {public.table} "
        for original, public in zip(check.changes, changes, strict=True)
    }
    return check.model_copy(
        update={
            "missing": [_public_sentence(text, hidden, keys) for text in check.missing],
            "side_effects": [_public_sentence(text, hidden, keys) for text in check.side_effects],
            "changes": changes,
        }
    )


def _public_change(change: RowChange) -> RowChange:
    before, after, hidden = change.before, change.after, _secret_columns(change)
    values = {row.get(name) for row in (before, after) if row is not None for name in hidden}
    parts = [change.key] if change.key in values else change.key.split(",")
    return change.model_copy(
        update={
            "key": ",".join(MARK if part in values else part for part in parts),
            "before": None if before is None else _public_row(before, after, hidden),
            "after": None if after is None else _public_row(after, before, hidden),
        }
    )


def _public_row(row: Row, other: Row | None, hidden: set[str]) -> dict[str, str | None]:
    """The columns of a row that the other state of the row lacks or has with another value; all of them without one."""
    changed = [name for name in row if other is None or name not in other or other[name] != row[name]]
    return {name: MARK if name in hidden and row[name] else _public_text(row[name]) for name in changed}


def _public_text(text: str | None) -> str | None:
    """A column's text. If it is a JSON object or list, its secrets are masked by the names of their keys."""
    if text is None or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # a text that only begins like JSON
        return text
    public = _public_json(value)
    return text if public == value else json.dumps(public, ensure_ascii=False)


def _public_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_public_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: MARK if _SECRET.search(name) and item else _public_json(item) for name, item in value.items()}


def _secret_columns(change: RowChange) -> set[str]:
    is_table_of_secrets = _SECRET.search(change.table) is not None
    columns = {*(change.before or {}), *(change.after or {})}
    return {name for name in columns if _SECRET.search(name) or (is_table_of_secrets and _VALUE.fullmatch(name))}


def _columns_with_secrets(change: RowChange) -> set[str]:
    """The columns whose JSON has a secret."""
    rows = [row for row in (change.before, change.after) if row is not None]
    return {name for row in rows for name, text in row.items() if _public_text(text) != text}


def _public_sentence(text: str, hidden: set[str], keys: Mapping[str, str]) -> str:
    """A sentence such as `also added 1 row to account (id 5, password ***)`: what follows a secret column may be its
    value."""
    for original, public in keys.items():
        text = text.replace(original, public)
    for column in re.finditer(r"[(,] ?([^ ,()]+) ", text):
        if column[1] in hidden or _SECRET.search(column[1]):
            return f"{text[: column.end()]}{MARK})"
    return text
