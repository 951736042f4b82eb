"""Task files to tasks. A row that is not a task is a rejection with its place and reason, never an exception.

WebVoyager's reference answers are a file of their own, `{site: {notice, answers: [{id, type, ans}]}}`, joined by id:
the answer becomes the reference answer, its type (`golden`, or `possible` where several answers are right) and the
site's notice go into the evaluator.

Accepted trade-off: the schema is guessed row by row, so a row of an unknown schema is measured against the nearest
known one, and its reason may list many fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from components.params import TaskFile
from components.records import Rejection, Task
from components.secrets import redacted
from components.tasks.files import read_rows
from components.tasks.rows import ROWS, schema_of

_ANSWER_TYPES = {"golden": "golden", "possible": "possible"}
RAW_LIMIT = 2000
"""Characters of a rejected row that are kept."""


class Origin(NamedTuple):
    """Where a row stands: its file's name, its number from 0, and in a text file the line that it begins on."""

    file: str
    row: int
    line: int | None = None


class Loaded(NamedTuple):
    """What task files held. `origins` maps a task's id to its row; `missing` are files that are not there."""

    tasks: list[Task]
    rejections: list[Rejection]
    origins: dict[str, Origin]
    missing: list[str]


def load_files(files: Iterable[TaskFile | Path | str]) -> Loaded:
    """Read task files; the file's stem is the source of its tasks, so two revisions of a benchmark stay apart.

    Raises:
        ValueError: a file is neither JSONL, a JSON list nor Parquet, or reference answers are no such file.
    """
    loaded = Loaded([], [], {}, [])
    taken: set[str] = set()
    for file in (one if isinstance(one, TaskFile) else TaskFile(path=str(one)) for one in files):
        path = Path(file.path)
        loaded.missing.extend(one for one in (file.path, file.answers) if one and not Path(one).exists())
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
        places = (Origin(path.name, index, numbered[index][0]) for index in accepted)
        loaded.origins.update({task.task_id: place for task, place in zip(tasks, places, strict=True)})
        loaded.tasks.extend(tasks)
        loaded.rejections.extend(one.model_copy(update={"line": numbered[one.row][0]}) for one in rejections)
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


def _read_answers(path: Path) -> dict[str, dict[str, str]]:
    """WebVoyager's reference answers by task id, each `{answer, type, notice}`."""
    try:
        return {
            f"{site}--{answer['id']}": {
                "answer": answer["ans"],
                "answer_type": _ANSWER_TYPES[answer["type"]],
                "notice": held.get("notice", ""),
            }
            for site, held in json.loads(path.read_text(encoding="utf-8")).items()
            for answer in held["answers"]
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} holds no reference answers in WebVoyager's form ({error!r}); take it out of the entry's answers"
        ) from error


def _with_answer(task: Task, answers: Mapping[str, Mapping[str, str]]) -> Task:
    found = answers.get(task.task_id.removeprefix(f"{task.source}/"))
    if found is None:
        return task
    evaluator = {"type": "webvoyager", "answer_type": found["answer_type"], "notice": found["notice"]}
    return task.model_copy(update={"reference_answer": found["answer"], "evaluator": task.evaluator | evaluator})
