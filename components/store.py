"""Finished files on disk, published by rename: Parquet tables of records, JSON, and the digests of a stage's inputs.

What a stage writes while it runs is in its journal (`components.journal`).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from components.records import Record, Rejection, Reward, Task, Trajectory, Verdict

FINISHED = "finished"
"""The file in a stage's state with the digests of the code with which the stage finished."""
SERVED = "served"
"""The folder in a stage's state with the weights that its servers read. A stage that goes on writes them anew."""

STATE = Path(".waymark")

R = TypeVar("R", bound=Record)

_IMAGE = pa.struct([("data", pa.binary()), ("sha256", pa.string())])
_READING = pa.struct(
    [
        *[(name, pa.string()) for name in ("url", "locator", "address", "text", "error")],
        *[(name, pa.list_(_IMAGE)) for name in ("images", "copies")],
    ]
)
_ENDING = pa.struct([("url", pa.string()), ("readings", pa.list_(_READING))])
_TASK = [
    *[(name, pa.string()) for name in ("task_id", "intent", "start_url", "website", "source", "split")],
    *[(name, pa.string()) for name in ("domain", "subdomain")],
    ("difficulty", pa.int64()),
    (
        "rubric",
        pa.list_(pa.struct([("id", pa.string()), ("description", pa.string()), ("facts", pa.list_(pa.string()))])),
    ),
    ("reference_answer", pa.string()),
    ("evaluator", pa.string()),  # as JSON: its keys are not fixed
    ("decomposed_from", pa.string()),
    ("horizon", pa.int64()),
    ("seed", pa.int64()),
]
_TURN = [
    ("index", pa.int64()),
    (
        "observation",
        pa.struct(
            [
                ("url", pa.string()),
                (
                    "tabs",
                    pa.list_(
                        pa.struct(
                            [
                                ("index", pa.int64()),
                                ("title", pa.string()),
                                ("url", pa.string()),
                                ("active", pa.bool_()),
                            ]
                        )
                    ),
                ),
                ("viewport", pa.list_(pa.int64())),
                ("screenshot", _IMAGE),
                ("text", pa.string()),
            ]
        ),
    ),
    ("prompt_sha256", pa.string()),
    ("prompt_tokens", pa.int64()),
    ("response", pa.string()),
    ("token_ids", pa.list_(pa.int32())),
    ("logprobs", pa.list_(pa.float32())),
    ("finish_reason", pa.string()),
    ("tool_calls", pa.list_(pa.struct([("name", pa.string()), ("arguments", pa.string()), ("error", pa.string())]))),
    ("feedback", pa.list_(pa.string())),
    ("parse_error", pa.string()),
    ("timings", pa.string()),
]
SCHEMAS: dict[type[Record], pa.Schema] = {
    Task: pa.schema(_TASK),
    Rejection: pa.schema(
        [
            ("file", pa.string()),
            ("row", pa.int64()),
            ("line", pa.int64()),
            *[(name, pa.string()) for name in ("field", "reason", "raw")],
        ]
    ),
    Trajectory: pa.schema(
        [
            ("trajectory_id", pa.string()),
            ("task", pa.struct(_TASK)),
            ("attempt", pa.int64()),
            ("policy", pa.string()),
            ("protocol", pa.string()),
            ("seed", pa.int64()),
            ("turns", pa.list_(pa.struct(_TURN))),
            ("termination", pa.string()),
            ("answer", pa.string()),
            ("site_reward", pa.float64()),
            ("late_actions", pa.int64()),
            ("final_screenshot", _IMAGE),
            ("ending", _ENDING),
            ("state_check", pa.string()),  # as JSON: its rows have the columns of any table
            ("diagnostics", pa.string()),
            ("branch_of", pa.struct([("parent", pa.string()), ("turn", pa.int64()), ("difference", pa.string())])),
        ]
    ),
    Verdict: pa.schema(
        [
            *[(name, pa.string()) for name in ("trajectory_id", "outcome", "rationale", "judge", "judge_version")],
            ("tokens", pa.int64()),
            ("cost_usd", pa.float64()),
            ("latency_s", pa.float64()),
            ("process", pa.string()),
            ("error_cause", pa.string()),
        ]
    ),
    Reward: pa.schema(
        [
            ("trajectory_id", pa.string()),
            ("value", pa.float64()),
            ("masked", pa.bool_()),
            ("format_ok", pa.bool_()),
            ("outcome", pa.string()),
        ]
    ),
}
_JSON_FIELDS = {"evaluator", "arguments", "timings", "state_check", "diagnostics", "process"}


ROWS_PER_GROUP = 256
BYTES_PER_GROUP = 256 * 2**20
"""Of the texts and images in a row group, which is read as a whole. PyArrow cannot read one of 2 GiB."""


def write_table(path: Path | str, kind: type[R], records: Iterable[R], rows_per_group: int = ROWS_PER_GROUP) -> None:
    """Write records to one Parquet file, published by rename: readers see the old file or the new one."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    schema = SCHEMAS[kind]
    try:
        with pq.ParquetWriter(partial, schema) as writer:
            batch: list[dict] = []
            size = 0
            for record in records:
                batch.append(_to_row(record.model_dump(mode="python")))
                size += _size(batch[-1])
                if len(batch) >= rows_per_group or size >= BYTES_PER_GROUP:
                    writer.write_table(pa.Table.from_pylist(batch, schema=schema))
                    batch, size = [], 0
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))
        publish(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _size(value: object) -> int:
    """Bytes of the texts and images in a value, at any depth. Numbers do not count."""
    if isinstance(value, bytes | str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, list) and value and not isinstance(value[0], int | float):
        return sum(map(_size, value))
    return 0


def read_table(path: Path | str, kind: type[R]) -> list[R]:
    """All records of a table."""
    return list(iter_table(path, kind))


def iter_table(path: Path | str, kind: type[R]) -> Iterator[R]:
    """The records of a table, one row group in memory at a time."""
    for row in iter_rows(path, kind):
        if isinstance(row, Exception):
            raise row
        yield row


class UnreadableTable(ValueError):
    """A file that is no table of the asked records. The message names it and the reason; callers add what to give."""


def iter_named_table(path: Path | str, kind: type[R]) -> Iterator[R]:
    """The records of a table that a user named, one row group in memory at a time.

    Raises:
        UnreadableTable: it is missing, a folder, no Parquet file, damaged, or a table of other records.
    """
    try:
        yield from iter_table(path, kind)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        records = "trajectories" if kind is Trajectory else f"{kind.__name__.lower()}s"
        reason = str(error).split("\n")[0]
        raise UnreadableTable(f"{path} is no table of {records} that can be read ({reason})") from error


def iter_rows(path: Path | str, kind: type[R]) -> Iterator[R | Exception]:
    """The records of a table in order, and an error in the place of each row that is no such record or cannot be read.

    Raises:
        pa.ArrowException, OSError: the file as a whole cannot be read.
    """
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            try:
                rows = file.read_row_group(group).to_pylist()
            except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
                yield from [error] * file.metadata.row_group(group).num_rows
                continue
            for row in rows:
                try:
                    yield kind.model_validate(_from_row(row))
                except ValueError as error:
                    yield error


def records_of_group(path: Path, kind: type[R], group: int) -> list[R]:
    """The records of one row group of a table."""
    with pq.ParquetFile(path) as file:
        return [kind.model_validate(_from_row(row)) for row in file.read_row_group(group).to_pylist()]


def publish(partial: Path, path: Path) -> None:
    """Rename a finished file or directory to its final path, with fsync.

    A file replaces an old one atomically. A directory takes two renames: for a moment there is none, but never a
    partial one.

    Raises:
        IsADirectoryError: a file would replace a directory.
    """
    if path.is_dir() and not partial.is_dir():
        raise IsADirectoryError(f"{path} is a folder, which no file replaces: remove it, or name another file")
    path.parent.mkdir(parents=True, exist_ok=True)
    for part in [*partial.rglob("*"), partial] if partial.is_dir() else [partial]:
        sync(part)
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    if path.is_dir():
        shutil.rmtree(old, ignore_errors=True)  # of a killed process with this id, which containers give again
        os.replace(path, old)
    os.replace(partial, path)
    sync(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def write_json(path: Path | str, value: object) -> None:
    """Write JSON, published by rename."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    partial.write_text(json.dumps(value, indent=1, sort_keys=False) + "\n")
    publish(partial, path)


def read_json(path: Path | str) -> dict:
    """Read a JSON object.

    Raises:
        ValueError: the file is not JSON, or is nested so deeply that it cannot be read.
    """
    try:
        return json.loads(Path(path).read_text())
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def digest(*parts: Path | str | BaseModel | int | float, leave_out: Collection[str] = ()) -> str:
    """A key for a stage's inputs, 16 hexadecimal digits. Paths count by content, all other parts by value.

    Args:
        leave_out: names of files and folders in directories that do not count.

    Raises:
        FileNotFoundError: a path does not exist.
    """
    hasher = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            if not part.exists():
                raise FileNotFoundError(f"{part}: no such input; `dvc repro` makes it")
            files = [part] if part.is_file() else files_in(part, leave_out)
            for file in files:
                hasher.update(str(file.relative_to(part) if file != part else file.name).encode())
                with file.open("rb") as handle:
                    hasher.update(hashlib.file_digest(handle, "sha256").digest())
        else:
            hasher.update(part.model_dump_json().encode() if isinstance(part, BaseModel) else repr(part).encode())
        hasher.update(b"\x00")
    return hasher.hexdigest()[:16]


def files_in(folder: Path, leave_out: Collection[str]) -> list[Path]:
    """All files below a folder, sorted, without files and folders of the names `leave_out`."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in files if not {*path.relative_to(folder).parts}.intersection(leave_out))


def state_dir(stage: str, key: str) -> Path:
    """The directory of a stage's state for one set of inputs, which survives a crash. It is no DVC output, because DVC
    deletes outputs before a run."""
    path = STATE / "state" / stage / key
    path.mkdir(parents=True, exist_ok=True)
    return path


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock (flock) of a file."""
    with path.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def sync(path: Path) -> None:
    """Write a file or folder through to the disk, where the file system can."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def _to_row(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: json.dumps(v) if k in _JSON_FIELDS else _to_row(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_to_row(item) for item in value]
    return value


def _from_row(value: object) -> object:
    if isinstance(value, dict):
        return {
            k: json.loads(v) if k in _JSON_FIELDS and isinstance(v, str) else _from_row(v) for k, v in value.items()
        }
    if isinstance(value, list):
        return [_from_row(item) for item in value]
    return value
