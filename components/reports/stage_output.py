"""Reads the JSON of stages: the base of all records of it, and errors that name the file, the field and the fix."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from components.evaluation.errors import EvaluationError


class StageOutput(BaseModel):
    """A part of a stage's JSON; other keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


Kind = TypeVar("Kind", bound=BaseModel)


def rerun(stage: str) -> str:
    """What to do about a wrong result. Without `--single-item`, DVC would run all stages before it, too."""
    return f"run `dvc repro --force --single-item {stage}`"


def read_result(path: Path, remedy: str) -> dict[str, Any]:
    """The JSON object of a file.

    Raises:
        EvaluationError: it is none.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise EvaluationError(f"{path} is not JSON; {remedy}") from error
    if not isinstance(raw, dict):
        raise EvaluationError(f"{path} is not a JSON object; {remedy}")
    return raw


def parsed(kind: type[Kind], values: Mapping[str, Any], message: str, remedy: str) -> Kind:
    """The values as a record.

    Args:
        what: the beginning of the error, such as `reports/x.json is no result of a stage`.

    Raises:
        EvaluationError: they do not fit; the message has every wrong field and what is wrong with it.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        fields = (f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors())
        raise EvaluationError(f"{message} ({'; '.join(fields)}); {remedy}") from error
