"""A stage in the Prefect UI: progress while it runs; then metrics, funnels and curves, as artifacts.

The stage itself does not use Prefect. It writes two files: `.waymark/progress/<stage>.json` while it runs, and its
metric file at the end. A scalar field of the metric file becomes a row of the metrics table (nested names are joined
with a dot); a list of records becomes a separate table with a bar per row or a curve per column.

A server that does not answer stops no stage: what it did not take is printed, and the stage goes on.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics
from collections.abc import Iterator
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
    """The progress of a stage: `done` of `total` (0: unknown), and a message."""

    done: float
    total: float
    message: str

    @property
    def percent(self) -> float:
        """Progress from 0 to 100; 0 if the total is unknown."""
        return min(100.0, 100.0 * self.done / self.total) if self.total else 0.0


def read_progress(stage: str, root: Path) -> Progress | None:
    """The stage's last progress; None without a readable file."""
    try:
        fields = json.loads((root / PROGRESS / f"{stage}.json").read_text())
        return Progress(float(fields["done"] or 0), float(fields["total"] or 0), str(fields["message"] or ""))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


class ProgressArtifact:
    """The progress artifact of a stage. The first progress creates it; it is updated only if the progress changed."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self._id: UUID | None = None
        self._last: Progress | None = None
        self._is_refused = False

    def show(self, progress: Progress) -> None:
        """Create or update the artifact. If that fails, a line says so, one for all failures in a row."""
        if progress == self._last:
            return
        try:
            self._send(progress)
        except Exception as error:  # of Prefect, of its client or of the network
            if not self._is_refused:
                _say_not_taken(self.stage, "the progress", error)
            self._is_refused = True
        else:
            self._last, self._is_refused = progress, False

    def _send(self, progress: Progress) -> None:
        text = f"{self.stage}: {progress.message}" if progress.message else self.stage
        if self._id is None:
            made = create_progress_artifact(progress.percent, key=key(self.stage, "progress"), description=text)
            assert isinstance(made, UUID)  # a coroutine only where an event loop runs
            self._id = made
        else:
            update_progress_artifact(self._id, progress.percent, description=text)


def publish_metrics(stage: str, file: Path) -> list[str]:
    """Publish artifacts from a stage's metric file; returns the keys of those that Prefect took, none without a
    file."""
    keys: list[str] = []
    try:
        keys.extend(_published(stage, file))
    except FileNotFoundError:
        return []
    except Exception as error:  # of Prefect, of its client or of the network
        _say_not_taken(stage, "the metrics", error)
    return keys


def _published(stage: str, file: Path) -> Iterator[str]:
    """Publish one artifact after the other; yields the key of each."""
    metrics = json.loads(file.read_text())
    if rows := scalars(metrics):
        table = [{"metric": name, "value": value} for name, value in rows.items()]
        name = key(stage, "metrics")
        create_table_artifact(table, key=name, description=f"Metrics of {stage}, from {file.name}")
        yield name
    for field, records in metrics.items():
        if isinstance(records, list) and records and isinstance(records[0], dict):
            name = key(stage, field)
            create_markdown_artifact(
                markdown(f"{stage}: {field}", records), key=name, description=f"{field} of {stage}"
            )
            yield name


def _say_not_taken(stage: str, item: str, error: Exception) -> None:
    print(f"{stage}: Prefect did not take {item}: {type(error).__name__}: {error}", flush=True)


def scalars(value: dict, prefix: str = "") -> dict[str, float | int | str | bool | None]:
    """The scalars of nested records, names joined with dots; a short list of numbers, such as an interval, becomes one
    text."""
    flat: dict[str, float | int | str | bool | None] = {}
    for name, item in value.items():
        if isinstance(item, dict):
            flat |= scalars(item, f"{prefix}{name}.")
        elif isinstance(item, list):
            if 0 < len(item) <= 4 and all(isinstance(number, int | float) for number in item):
                flat[prefix + name] = " … ".join(f"{number:.4g}" for number in item)
        else:
            flat[prefix + name] = item
    return flat


def markdown(title: str, records: list[dict]) -> str:
    """A table of the records. A funnel (records with `left`) gets a bar per row, else each numeric column a curve."""
    records = [
        {name: item for field, value in record.items() for name, item in _columns(field, value)} for record in records
    ]
    columns = list(dict.fromkeys(name for record in records for name in record))
    lines = [f"## {title}", ""]
    if "left" in columns:
        largest = max(_number(record.get("left")) for record in records) or 1.0
        lines += _table(
            [*columns, ""],
            [
                [
                    *(_cell(record.get(name)) for name in columns),
                    "█" * round(24 * _number(record.get("left")) / largest),
                ]
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


def _columns(field: str, value: object) -> Iterator[tuple[str, object]]:
    """The columns of a field of a record: those of a nested record, such as a rate with its interval, else one."""
    yield from scalars({field: value}).items() or [(field, value)]


def sparkline(values: list[float], width: int = 40) -> str:
    """A curve in one line of text, lowest value to highest; more than `width` values are averaged into `width` bins.

    Values that are not finite, such as the clip fraction of an iteration without an update, are gaps.
    """
    edges = [round(index * len(values) / width) for index in range(width + 1)] if len(values) > width else None
    bins = [values[low:high] for low, high in itertools.pairwise(edges or range(len(values) + 1))]
    means = [statistics.fmean(known) if (known := [*filter(math.isfinite, part)]) else None for part in bins]
    drawn = [mean for mean in means if mean is not None]
    low, high = min(drawn, default=0.0), max(drawn, default=0.0)
    span = (high - low) or 1.0
    return "".join(" " if mean is None else BLOCKS[min(7, int(8 * (mean - low) / span))] for mean in means)


def key(stage: str, content: str) -> str:
    """An artifact's key: Prefect allows lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", f"{stage}-{content}".lower()).strip("-")


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(header)} |", "|" + " --- |" * len(header), *(f"| {' | '.join(row)} |" for row in rows)]


def _cell(value: object) -> str:
    """A value as the text of a cell. Texts may be a page's or a task's, so they get no marks of Markdown or HTML."""
    if isinstance(value, float):
        return f"{value:.4g}"
    text = "" if value is None else " ".join(str(value).split())
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
