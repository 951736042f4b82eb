"""Which run made a table, as far as `dvc.lock` records it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import yaml

LOCK = Path("dvc.lock")


def recorded_seed(table: Path, lock: Path = LOCK) -> int | None:
    """The seed of the run that made a table. None if `dvc.lock` does not have this path with this content."""
    try:
        stages = yaml.safe_load(lock.read_text())["stages"].values()
    except (OSError, yaml.YAMLError, TypeError, LookupError, AttributeError):
        return None
    for stage in filter(None, stages):  # a killed DVC may have cut the file off
        if any(_is_recorded(table, out) for out in stage.get("outs", ())):
            seed = stage.get("params", {}).get("params.yaml", {}).get("seed")
            return seed if isinstance(seed, int) else None
    return None


def _is_recorded(table: Path, out: dict[str, object]) -> bool:
    if out.get("path") != table.as_posix() or out.get("size") != table.stat().st_size:
        return False
    with table.open("rb") as file:
        return out.get("md5") == hashlib.file_digest(file, "md5").hexdigest()  # DVC uses MD5
