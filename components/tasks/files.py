"""Reads task files row by row: JSONL, a JSON list, or Parquet; each row of a text file has its line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pyarrow.parquet as pq

Row = dict[str, Any] | list[Any] | str
"""A row that is an object, as it should be, or other JSON, or text that is not JSON."""


def read_rows(path: Path) -> Iterator[tuple[int | None, Row]]:
    """The rows of a file, each with its first line (None in Parquet). A text row is a line that is not JSON.

    Raises:
        ValueError: the file is neither JSONL, a JSON list nor Parquet; the message says what to do.
    """
    match path.suffix:
        case ".jsonl":
            lines = path.read_text(encoding="utf-8").split("\n")  # not splitlines, which also splits at U+2028
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, _json_or_text(line)
        case ".json":
            yield from _read_list(path)
        case ".parquet":
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches():
                    yield from ((None, _decode_parquet(row)) for row in batch.to_pylist())
        case _:
            _refuse(path, "is neither .jsonl, .json nor .parquet")


def _read_list(path: Path) -> Iterator[tuple[int, Row]]:
    """The items of a JSON list, parsed one by one to know the line of each."""
    text, decoder = path.read_text(encoding="utf-8"), json.JSONDecoder()
    if not text.lstrip().startswith("["):
        _refuse(path, "has no JSON list of rows")
    line, seen, position = 1, 0, text.index("[") + 1
    while True:
        position = _skip_spaces(text, position)
        if text[position : position + 1] == "]":
            return
        line, seen = line + text.count("\n", seen, position), position
        try:
            row, position = decoder.raw_decode(text, position)
        except ValueError as error:
            _refuse(path, f"is not JSON from line {line} on ({error})")
        yield line, row
        position = _skip_spaces(text, position)
        if text[position : position + 1] == ",":
            position += 1
        elif text[position : position + 1] != "]":
            _refuse(path, f"is not JSON after the row of line {line}")


def _skip_spaces(text: str, position: int) -> int:
    while text[position : position + 1].isspace():
        position += 1
    return position


def _refuse(path: Path, why: str) -> NoReturn:
    raise ValueError(f"{path} {why}; convert it to JSONL, one row per line, or take it out of tasks.files")


def _json_or_text(line: str) -> Row:
    try:
        return json.loads(line)
    except ValueError:
        return line


def _decode_parquet(row: dict) -> dict:
    """Parse the evaluator, which `store.write_table` writes as JSON text."""
    if isinstance(row.get("evaluator"), str):
        return row | {"evaluator": json.loads(row["evaluator"])}
    return row
