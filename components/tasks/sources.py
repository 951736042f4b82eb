"""Task files to tasks. A row that is not a task is a rejection with its place and reason, never an exception.

Accepted trade-off: the schema is guessed row by row, so a row of an unknown schema is measured against the nearest
known one, and its reason may list many fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

import pyarrow.parquet as pq
from pydantic import ValidationError

from components.records import Rejection, Task
from components.secrets import redacted
from components.tasks.rows import ROWS, schema_of

RAW_LIMIT = 2000
"""Characters of a rejected row that are kept."""


class Loaded(NamedTuple):
    """What task files held. `origins` maps a task's id to its file and row; `missing` are files that are not there."""

    tasks: list[Task]
    rejections: list[Rejection]
    origins: dict[str, tuple[str, int]]
    missing: list[str]


def load_files(paths: Iterable[Path | str]) -> Loaded:
    """Read task files; the file's stem is the source of its tasks, so two revisions of a benchmark stay apart.

    Raises:
        ValueError: a file is neither JSONL, a JSON list nor Parquet.
    """
    loaded = Loaded([], [], {}, [])
    taken: set[str] = set()
    for path in map(Path, paths):
        if not path.exists():
            loaded.missing.append(str(path))
            continue
        rows = list(_read(path))
        tasks, rejections = parse_rows(rows, path.stem, path.name, taken)
        rejected = {rejection.row for rejection in rejections}
        accepted = [index for index in range(len(rows)) if index not in rejected]
        loaded.origins.update({task.task_id: (path.name, index) for task, index in zip(tasks, accepted, strict=True)})
        loaded.tasks.extend(tasks)
        loaded.rejections.extend(rejections)
    return loaded


def parse_rows(
    rows: Iterable[dict | str], source: str, file: str, taken: set[str] | None = None
) -> tuple[list[Task], list[Rejection]]:
    """Rows of one file to tasks, in order, each row to one task or one rejection.

    Args:
        rows: the file's rows; a string stands for a line that is not JSON, and a row with an `error` for a task whose
            page its source could not open.
        source: name of the source, recorded in the tasks and part of the ids of benchmark tasks.
        file: named in rejections.
        taken: ids that tasks of other files have; the ids of this file's tasks are added.
    """
    taken = set() if taken is None else taken
    tasks: list[Task] = []
    rejections: list[Rejection] = []
    for index, row in enumerate(rows):
        task, field, reason = _parse_row(row, source, taken)
        if task is None:
            rejections.append(Rejection(file=file, row=index, field=field, reason=reason, raw=raw_of(row)))
        else:
            taken.add(task.task_id)
            tasks.append(task)
    return tasks, rejections


def raw_of(row: object) -> str:
    """A row as it goes into a rejection: JSON, without passwords in addresses, cut to `RAW_LIMIT` characters."""
    text = redacted(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False, default=str))
    text = text.encode(errors="backslashreplace").decode()  # a lone surrogate cannot be stored
    return text if len(text) <= RAW_LIMIT else text[: RAW_LIMIT - 1] + "…"


def _parse_row(row: object, source: str, taken: set[str]) -> tuple[Task | None, str, str]:
    if not isinstance(row, dict):
        return None, "", "is not a JSON object"
    if isinstance(row.get("error"), str):
        return None, "start_url", row["error"]
    schema = schema_of(row)
    if schema is None:
        known = "; ".join(f"{known.__name__}: {', '.join(known.model_fields)}" for known in ROWS)
        return None, "", f"fits no known schema ({known})"
    try:
        task = schema.model_validate(row).task(source)
    except ValidationError as error:
        return None, *_explain(error, schema.__name__)
    if task.task_id in taken:
        return None, "task_id" if "task_id" in row else "id", f"duplicate id {task.task_id!r}"
    return task, "", ""


def _explain(error: ValidationError, schema: str) -> tuple[str, str]:
    """The wrong fields and what is wrong with each."""
    fields, reasons = [], []
    for detail in error.errors():
        field = ".".join(str(part) for part in detail["loc"])
        message = (
            "unknown field" if detail["type"] == "extra_forbidden" else detail["msg"].removeprefix("Value error, ")
        )
        fields.append(field)
        reasons.append(f"{field}: {message}" if field else message)
    return ", ".join(filter(None, fields)), f"{schema}: " + "; ".join(reasons)


def _read(path: Path) -> Iterator[dict | str]:
    match path.suffix:
        case ".jsonl":
            for line in path.read_text(encoding="utf-8").split("\n"):  # not splitlines: U+2028 is no end of a row
                if line.strip():
                    yield _json_or_text(line)
        case ".json":
            rows = _json_or_text(path.read_text(encoding="utf-8"))
            if not isinstance(rows, list):
                _refuse(path, "holds no JSON list of rows")
            yield from rows
        case ".parquet":
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches():
                    yield from map(_decode_parquet, batch.to_pylist())
        case _:
            _refuse(path, "is neither .jsonl, .json nor .parquet")


def _refuse(path: Path, why: str) -> NoReturn:
    raise ValueError(f"{path} {why}; convert it to JSONL, one row per line, or take it out of tasks.files")


def _json_or_text(line: str) -> dict | list | str:
    try:
        return json.loads(line)
    except ValueError:
        return line


def _decode_parquet(row: dict) -> dict:
    """`store.write_table` keeps the open evaluator specification as JSON."""
    if isinstance(row.get("evaluator"), str):
        return row | {"evaluator": json.loads(row["evaluator"])}
    return row
