"""Which run made a table, as far as `dvc.lock` records it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import yaml

LOCK = Path("dvc.lock")


def recorded_seed(table: Path, lock: Path = LOCK) -> int | None:
    """The seed of the run that made a table. None if `dvc.lock` does not have this path with this content."""
    try:
        stages = yaml.safe_load(lock.read_text())["stages"].values()
    except (OSError, UnicodeDecodeError, yaml.YAMLError, TypeError, LookupError, AttributeError):
        return None
    for stage in map(_mapping, stages):
        outs = stage.get("outs")
        if isinstance(outs, list) and any(_is_recorded(table, _mapping(out)) for out in outs):
            seed = _mapping(_mapping(stage.get("params")).get("params.yaml")).get("seed")
            return seed if isinstance(seed, int) else None
    return None


def _mapping(value: object) -> dict[str, Any]:
    """The value, or an empty mapping in place of a text or nothing: a killed DVC may have cut the file off."""
    return value if isinstance(value, dict) else {}


def _is_recorded(table: Path, out: dict[str, Any]) -> bool:
    path = Path(os.path.relpath(table)).as_posix()  # as DVC writes it
    if out.get("path") != path or out.get("size") != table.stat().st_size:
        return False
    with table.open("rb") as file:
        return out.get("md5") == hashlib.file_digest(file, "md5").hexdigest()  # DVC uses MD5
