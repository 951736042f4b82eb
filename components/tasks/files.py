"""Reads task files row by row: JSONL, a JSON list, or Parquet; each row of a text file has its line.

No row is lost in silence and no row ends the reading of the others. What cannot be a row becomes a `BrokenRow` with the
reason: bytes that are not UTF-8, a key that occurs twice (JSON keeps the last one), `NaN`, a number with more digits
than Python reads, nesting deeper than `MAX_DEPTH`, rows after the end of a JSON list. Only a file of which nothing more
can be read is refused, in one sentence that names it: text that breaks off, a Parquet file that is none, a file without
rows.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

MAX_DEPTH = 100
"""Lists and objects inside each other in one row."""
_TOO_DEEP = f"is nested more deeply than {MAX_DEPTH} levels"
_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_UNDECODED = re.compile("[\udc80-\udcff]")
"""What Python makes of a byte that is not UTF-8 (PEP 383)."""
_LATER_ROW = re.compile(r"\n\s*[\[{]")
"""The beginning of the next line that may be a row."""
_TEXT_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', re.DOTALL)
"""A JSON string, in which brackets do not count, or a bracket."""


@dataclass(frozen=True)
class BrokenRow:
    """A row that cannot be read, its text, and the reason."""

    reason: str
    text: str


Row = dict[str, Any] | list[Any] | str | BrokenRow
"""A row that is an object, as it should be, or other JSON, or what cannot be read."""


def read_rows(path: Path) -> Iterator[tuple[int | None, Row]]:
    """The rows of a file, each with its first line (None in Parquet).

    Raises:
        ValueError: the path is a folder, or the file is neither JSONL, a JSON list nor Parquet, or has no rows; the
            message says what to do.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name the files in it in tasks.files")
    is_empty = True
    for row in _rows(path):
        is_empty = False
        yield row
    if is_empty:
        raise ValueError(f"{path} has no rows: write a task per line into it, or take it out of tasks.files")


def _rows(path: Path) -> Iterator[tuple[int | None, Row]]:
    match path.suffix:
        case ".jsonl":
            lines = _text(path).split("\n")  # not splitlines, which also splits at U+2028
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, _row_of_line(line)
        case ".json":
            yield from _read_list(path)
        case ".parquet":
            yield from ((None, row) for row in _read_parquet(path))
        case _:
            _refuse(path, "is neither .jsonl, .json nor .parquet")


def parse_json(text: str) -> Any:
    """A JSON value in which every key occurs once.

    Raises:
        ValueError: it is no such value, or nested more deeply than `MAX_DEPTH`.
    """
    decoder = _Decoder()
    try:
        value = decoder.decode(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if decoder.problem or _is_deep(value):
        raise ValueError(decoder.problem or _TOO_DEEP)
    return value


class _Decoder(json.JSONDecoder):
    """Notes what JSON forbids and Python accepts, and what Python cannot read, so that the position of the next row is
    still known."""

    def __init__(self) -> None:
        super().__init__(object_pairs_hook=self._object, parse_constant=self._constant, parse_int=self._integer)
        self.problem = ""

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = dict(pairs)
        if len(keys) < len(pairs):
            names = [key for key, _ in pairs]
            self.problem = f"has the key {next(name for name in names if names.count(name) > 1)!r} twice"
        return keys

    def _constant(self, name: str) -> None:
        self.problem = f"has {name}, which is not JSON"

    def _integer(self, digits: str) -> int:
        try:
            return int(digits)
        except ValueError:
            self.problem = f"has a number of more than {sys.get_int_max_str_digits()} digits"
            return 0


def _text(path: Path) -> str:
    """The text of a file without a byte order mark; bytes that are not UTF-8 become lone surrogates."""
    content = path.read_bytes()
    if encoding := _BOMS.get(content[:2]):
        _refuse(path, f"is {encoding}, not UTF-8")
    return content.decode("utf-8-sig", errors="surrogateescape")


def _row_of_line(line: str) -> Row:
    if problem := _undecoded(line):
        return BrokenRow(problem, line)
    try:
        return parse_json(line)
    except json.JSONDecodeError as error:
        return BrokenRow(f"is not a JSON object: {error.msg.removesuffix(' at')} at column {error.colno}", line)
    except ValueError as error:
        return BrokenRow(str(error), line)


def _undecoded(text: str) -> str:
    match = _UNDECODED.search(text)
    return (
        f"has a byte that is not UTF-8: 0x{ord(match[0]) - 0xDC00:02x} at column {match.start() + 1}" if match else ""
    )


def _read_list(path: Path) -> Iterator[tuple[int, Row]]:
    """The items of a JSON list, parsed one by one to know the line of each. After its end each item is a broken row.

    Text there that is no JSON is one, too, up to the next line that may begin an item.
    """
    text = _text(path)
    if not text.lstrip().startswith("["):
        _refuse(path, "has no JSON list of rows")
    line, seen, position, ended = 1, 0, text.index("[") + 1, ""
    while True:
        position = _skip(text, position, "" if not ended else ",[]")
        if position == len(text) and ended:
            return
        line, seen = line + text.count("\n", seen, position), position
        if not ended and text[position : position + 1] == "]":
            position, ended = position + 1, f"stands after the end of the file's JSON list in line {line}"
            continue
        begin = position
        try:
            value, position, problem = _decode(text, position)
        except ValueError as error:
            if ended:
                following = _LATER_ROW.search(text, begin)
                position = following.end() - 1 if following else len(text)
                yield line, BrokenRow(ended, text[begin:position].strip())
                continue
            _refuse(path, f"is not JSON from line {line} on ({error})")
        raw = text[begin:position]
        problem = ended or _undecoded(raw) or problem
        yield line, BrokenRow(problem, raw) if problem else value
        if ended:
            continue
        position = _skip(text, position)
        if text[position : position + 1] == ",":
            position += 1
        elif text[position : position + 1] != "]":
            _refuse(path, f"is not JSON after the row of line {line}")


def _decode(text: str, begin: int) -> tuple[Any, int, str]:
    """The JSON value that begins at a position, the position of its end, and why it can be no row.

    Raises:
        ValueError: no value begins there, or the text breaks off.
    """
    decoder = _Decoder()
    try:
        value, end = decoder.raw_decode(text, begin)
    except RecursionError:
        return None, _end_of(text, begin), _TOO_DEEP
    return value, end, decoder.problem or (_TOO_DEEP if _is_deep(value) else "")


def _end_of(text: str, begin: int) -> int:
    """The position after the bracket that closes the one at `begin`, at any depth.

    Raises:
        ValueError: no bracket closes it.
    """
    depth = 0
    for match in _TEXT_OR_BRACKET.finditer(text, begin):
        depth += (match[0] in "[{") - (match[0] in "]}")
        if depth == 0:
            return match.end()
    raise ValueError("it is nested too deeply, and a bracket is not closed")


def _skip(text: str, position: int, others: str = "") -> int:
    """The position of the next character that is neither a space nor one of `others`."""
    while position < len(text) and (text[position].isspace() or text[position] in others):
        position += 1
    return position


def _is_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level:
        level = [
            part
            for parent in level
            if isinstance(parent, dict | list)
            for part in (parent.values() if isinstance(parent, dict) else parent)
        ]
        depth += 1
        if depth > MAX_DEPTH + 1:
            return True
    return False


def _read_parquet(path: Path) -> Iterator[Row]:
    try:
        with pq.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            if repeated := [name for name in columns if columns.count(name) > 1]:
                _refuse(path, f"has the column {repeated[0]!r} twice")
            for batch in file.iter_batches():
                yield from _rows_of(batch)
    except (pa.ArrowException, OSError) as error:
        _refuse(path, f"is not a Parquet file that can be read, or only a part of one ({str(error).splitlines()[0]})")


def _rows_of(batch: pa.RecordBatch) -> Iterator[Row]:
    """The rows of a batch; one with a text that is no UTF-8, or a time out of range, is broken and the others stay."""
    try:
        yield from map(_decode_parquet, batch.to_pylist())
    except (ValueError, OverflowError):
        for number in range(batch.num_rows):
            try:
                yield _decode_parquet(batch.slice(number, 1).to_pylist()[0])
            except (ValueError, OverflowError) as error:
                yield BrokenRow(f"it cannot be read ({error})", "")


def _refuse(path: Path, reason: str) -> NoReturn:
    raise ValueError(f"{path} {reason}; convert it to JSONL, one row per line, or take it out of tasks.files")


def _decode_parquet(row: dict) -> Row:
    """Parse the evaluator, which `store.write_table` writes as JSON text. Of a struct, leave out the null fields: the
    format fills each row's evaluator with the fields that other rows' have."""
    evaluator = row.get("evaluator")
    if isinstance(evaluator, dict):
        return row | {"evaluator": _without_nulls(evaluator)}
    if not isinstance(evaluator, str):
        return row
    try:
        return row | {"evaluator": parse_json(evaluator)}
    except ValueError as error:
        return BrokenRow(f"evaluator: {error}", json.dumps(row, ensure_ascii=False, default=str))


def _without_nulls(value: Any) -> Any:
    """A value without the fields of its objects that are null, at any depth."""
    if isinstance(value, dict):
        return {key: _without_nulls(field) for key, field in value.items() if field is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
