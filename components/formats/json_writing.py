"""JSON as all writers of formats write it: without the tokens Infinity and NaN, which readers of JSON refuse."""

from __future__ import annotations

import json
from typing import Any

from components.formats.interface import NotWritable


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON.

    Raises:
        NotWritable: it has a number that is infinite or none.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    except ValueError as error:
        raise NotWritable("a number is infinite or none, which JSON cannot hold: leave this trajectory out") from error
