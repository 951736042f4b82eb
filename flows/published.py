"""What the Prefect UI shows of a stage: progress while it runs; then metrics, funnels and curves, as artifacts.

The stage writes two files and knows nothing of Prefect: `.waymark/progress/<stage>.json` while it runs, its metric
file when it is done. A field of the metric file becomes a row of the metrics table if it is a scalar (nested names are
joined with a dot), a table of its own with a bar or a curve per column if it is a list of records.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

PROGRESS = Path(".waymark/progress")
BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Progress:
    """How far a stage is: `done` of `total` (0: not known yet), and what it is doing."""

    done: float
    total: float
    message: str

    @property
    def percent(self) -> float:
        return min(100.0, 100.0 * self.done / self.total) if self.total else 0.0


def read_progress(stage: str, root: Path) -> Progress | None:
    """What the stage last said, or None."""
    try:
        said = json.loads((root / PROGRESS / f"{stage}.json").read_text())
        return Progress(float(said["done"] or 0), float(said["total"] or 0), str(said["message"] or ""))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


class ProgressArtifact:
    """One live progress artifact of a stage; it is made with the first news and updated only when something changed."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self._id: UUID | None = None
        self._last: Progress | None = None

    def show(self, progress: Progress) -> None:
        if progress == self._last:
            return
        self._last = progress
        text = f"{self.stage}: {progress.message}" if progress.message else self.stage
        if self._id is None:
            self._id = create_progress_artifact(progress.percent, key=key(self.stage, "progress"), description=text)
        else:
            update_progress_artifact(self._id, progress.percent, description=text)


def publish_metrics(stage: str, file: Path) -> list[str]:
    """Artifacts from a stage's metric file; returns their keys. A stage without the file publishes nothing."""
    try:
        metrics = json.loads(file.read_text())
    except FileNotFoundError:
        return []
    keys = []
    if rows := scalars(metrics):
        keys.append(key(stage, "metrics"))
        table = [{"metric": name, "value": value} for name, value in rows.items()]
        create_table_artifact(table, key=keys[-1], description=f"Metrics of {stage}, from {file.name}")
    for name, records in metrics.items():
        if isinstance(records, list) and records and isinstance(records[0], dict):
            keys.append(key(stage, name))
            create_markdown_artifact(
                markdown(f"{stage}: {name}", records), key=keys[-1], description=f"{name} of {stage}"
            )
    return keys


def scalars(value: dict, prefix: str = "") -> dict[str, float | int | str | bool | None]:
    """The scalars of nested records, names joined with dots; a short list of numbers (an interval) counts as one."""
    found: dict[str, float | int | str | bool | None] = {}
    for name, one in value.items():
        if isinstance(one, dict):
            found |= scalars(one, f"{prefix}{name}.")
        elif isinstance(one, list):
            if 0 < len(one) <= 4 and all(isinstance(number, int | float) for number in one):
                found[prefix + name] = " … ".join(f"{number:.4g}" for number in one)
        else:
            found[prefix + name] = one
    return found


def markdown(title: str, records: list[dict]) -> str:
    """A table of the records. A funnel (records with `left`) gets a bar per row, else each numeric column a curve."""
    columns = list(dict.fromkeys(name for record in records for name in record))
    lines = [f"## {title}", ""]
    if "left" in columns:
        most = max(_number(record.get("left")) for record in records) or 1.0
        lines += _table(
            [*columns, ""],
            [
                [*(_cell(record.get(name)) for name in columns), "█" * round(24 * _number(record.get("left")) / most)]
                for record in records
            ],
        )
        return "\n".join(lines) + "\n"
    curves = []
    for name in columns:
        values = [record[name] for record in records if isinstance(record.get(name), int | float)]
        if len(values) > 1:
            curves.append([name, sparkline(values), _cell(values[0]), _cell(values[-1])])
    lines += [*_table(["", "curve", "first", "last"], curves), ""]
    lines += _table(columns, [[_cell(record.get(name)) for name in columns] for record in records])
    return "\n".join(lines) + "\n"


def sparkline(values: list[float], width: int = 40) -> str:
    """A curve in one line of text, lowest value to highest; more than `width` values are averaged into as many bins."""
    if len(values) > width:
        edges = [round(index * len(values) / width) for index in range(width + 1)]
        values = [sum(values[low:high]) / (high - low) for low, high in itertools.pairwise(edges)]
    low, high = min(values), max(values)
    if high == low:
        return BLOCKS[0] * len(values)
    return "".join(BLOCKS[min(7, int(8 * (value - low) / (high - low)))] for value in values)


def key(stage: str, what: str) -> str:
    """An artifact's key: Prefect allows lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", f"{stage}-{what}".lower()).strip("-")


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(header)} |", "|" + " --- |" * len(header), *(f"| {' | '.join(row)} |" for row in rows)]


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
