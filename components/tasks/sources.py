"""Reads task files as tasks. A row that is not a task becomes a rejection with its place and reason, not an error.

WebVoyager's reference answers are in a separate file, `{site: {notice, answers: [{id, type, ans}]}}`, joined by id:
the answer becomes the reference answer, its type (`golden`, or `possible` where several answers are right) and the
site's notice go into the evaluator.

Accepted trade-off: the schema is guessed by row, so a row of an unknown schema is compared with the nearest known one,
and its reason may list many fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from components.params import TaskFile
from components.records import Rejection, Task
from components.redaction import redacted
from components.tasks.files import BrokenRow, Row, parse_json, read_rows
from components.tasks.rows import ROWS, schema_of

_ANSWER_TYPES = {"golden": "golden", "possible": "possible"}
RAW_LIMIT = 2000
"""Characters of a rejected row that a rejection keeps."""


class Origin(NamedTuple):
    """The place of a row: its file's name, its number from 0, and in a text file its first line."""

    file: str
    row: int
    line: int | None = None


class Loaded(NamedTuple):
    """The content of task files. `origins` maps a task's id to its row; `missing` lists files that do not exist."""

    tasks: list[Task]
    rejections: list[Rejection]
    origins: dict[str, Origin]
    missing: list[str]


def load_files(files: Iterable[TaskFile | Path | str]) -> Loaded:
    """Read task files; the file's stem is the source of its tasks, so two revisions of a benchmark are different
    sources.

    Raises:
        ValueError: a file is neither JSONL, a JSON list nor Parquet, or has no rows, or a file of reference answers has
            another form.
    """
    loaded = Loaded([], [], {}, [])
    taken: set[str] = set()
    for entry in files:
        file = entry if isinstance(entry, TaskFile) else TaskFile(path=str(entry))
        path = Path(file.path)
        loaded.missing.extend(name for name in (file.path, file.answers) if name and not Path(name).exists())
        if not path.exists():
            continue
        numbered = list(read_rows(path))
        rows = [row for _, row in numbered]
        tasks, rejections = parse_rows(rows, path.stem, path.name, taken)
        if file.split is not None:
            tasks = [task.model_copy(update={"split": file.split}) for task in tasks]
        if file.answers is not None and Path(file.answers).exists():
            answers = _read_answers(Path(file.answers))
            tasks = [_with_answer(task, answers) for task in tasks]
        rejected = {rejection.row for rejection in rejections}
        accepted = [index for index in range(len(rows)) if index not in rejected]
        origins = (Origin(path.name, index, numbered[index][0]) for index in accepted)
        loaded.origins.update({task.task_id: origin for task, origin in zip(tasks, origins, strict=True)})
        loaded.tasks.extend(tasks)
        loaded.rejections.extend(
            rejection.model_copy(update={"line": numbered[rejection.row][0]}) for rejection in rejections
        )
    return loaded


def parse_rows(
    rows: Iterable[Row], source: str, file: str, taken: set[str] | None = None
) -> tuple[list[Task], list[Rejection]]:
    """The tasks and rejections of the rows of one file, in order.

    Args:
        rows: the file's rows; a `BrokenRow` has its reason, and a row with an `error` is a task whose page its source
            could not open.
        source: name of the source, recorded in the tasks and part of the ids of benchmark tasks.
        file: named in rejections.
        taken: ids of tasks of other files; the ids of this file's tasks are added.
    """
    taken = set() if taken is None else taken
    tasks: list[Task] = []
    rejections: list[Rejection] = []
    for index, row in enumerate(rows):
        task, field, reason = _parse_row(row, source, taken)
        if task is None:
            raw = raw_of(row.text if isinstance(row, BrokenRow) else row)
            rejections.append(Rejection(file=file, row=index, field=field, reason=reason, raw=raw))
        else:
            taken.add(task.task_id)
            tasks.append(task)
    return tasks, rejections


def raw_of(row: object) -> str:
    """A row's text in a rejection: JSON without passwords in addresses, cut to `RAW_LIMIT` characters."""
    text = redacted(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False, default=str))
    text = text.encode(errors="backslashreplace").decode()  # a lone surrogate cannot be stored
    return text if len(text) <= RAW_LIMIT else text[: RAW_LIMIT - 1] + "…"


def _parse_row(row: object, source: str, taken: set[str]) -> tuple[Task | None, str, str]:
    if isinstance(row, BrokenRow):
        return None, "", row.reason
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
    except (ValueError, RecursionError) as error:  # of a conversion that the schema does not check
        return None, "", f"{schema.__name__}: {error}"
    if task.task_id in taken:
        return None, "task_id" if "task_id" in row else "id", f"duplicate id {task.task_id!r}"
    return task, "", ""


def _explain(error: ValidationError, schema: str) -> tuple[str, str]:
    """The wrong fields, and the error of each."""
    fields, reasons = [], []
    for detail in error.errors():
        field = ".".join(str(part) for part in detail["loc"])
        message = (
            "unknown field" if detail["type"] == "extra_forbidden" else detail["msg"].removeprefix("Value error, ")
        )
        fields.append(field)
        reasons.append(f"{field}: {message}" if field else message)
    return ", ".join(filter(None, fields)), f"{schema}: " + "; ".join(reasons)


def _read_answers(path: Path) -> dict[str, dict[str, str]]:
    """WebVoyager's reference answers by task id, each `{answer, type, notice}`.

    Raises:
        ValueError: the file has another form, or two different answers to one task.
    """
    answers: dict[str, dict[str, str]] = {}
    try:
        rows = [
            (
                f"{site}--{answer['id']}",
                {
                    "answer": _text(answer["ans"]),
                    "answer_type": _ANSWER_TYPES[answer["type"]],
                    "notice": _text(entry.get("notice", "")),
                },
            )
            for site, entry in parse_json(path.read_text(encoding="utf-8-sig")).items()
            for answer in entry["answers"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} has no reference answers in WebVoyager's form ({error!r}); remove it from the entry's answers"
        ) from error
    for task, answer in rows:
        if answers.setdefault(task, answer) != answer:
            raise ValueError(f"{path} has two different reference answers to {task}: remove the wrong one")
    return answers


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _with_answer(task: Task, answers: Mapping[str, Mapping[str, str]]) -> Task:
    answer = answers.get(task.task_id.removeprefix(f"{task.source}/"))
    if answer is None:
        return task
    evaluator = {"type": "webvoyager", "answer_type": answer["answer_type"], "notice": answer["notice"]}
    return task.model_copy(update={"reference_answer": answer["answer"], "evaluator": task.evaluator | evaluator})
