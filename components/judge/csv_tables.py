"""Reads CSV files with a line of columns: each row with its line, or one sentence that says what to change."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple


class CsvTable(NamedTuple):
    """The names of the columns, and each row with the line on which it ends.

    A row that is short has the value None in the columns that it lacks; one that is long has the key None.
    """

    columns: list[str]
    rows: list[tuple[int, dict[Any, Any]]]


def read_csv(path: Path, refusal: type[ValueError]) -> CsvTable:
    """A table; without text it has no column.

    Args:
        refusal: the error to raise.

    Raises:
        ValueError: of the type `refusal`: the file cannot be read, is not CSV in UTF-8, or has a column twice.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise refusal(f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8") from error
    except OSError as error:
        raise refusal(f"{path} cannot be read ({error.strerror}): name a CSV file") from error
    table = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = list(table.fieldnames or [])
        rows = [(table.line_num, row) for row in table]
    except csv.Error as error:
        raise refusal(f"{path}:{table.reader.line_num}: is not CSV ({error}): correct the row") from error
    if repeated := [name for name, count in Counter(columns).items() if name and count > 1]:
        raise refusal(f"{path} has the column {repeated[0]!r} twice: remove one of them")
    return CsvTable(columns, rows)
