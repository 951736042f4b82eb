"""Writes stored trajectories in a format that others read, such as ATIF (`waymark export --format`).

The folder is published by rename. A trajectory that the format cannot hold is left out, and the result says why.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from components.export.columns import Episode
from components.export.dataset import ExportError, Source
from components.formats import Format, NotWritable
from components.store import publish


@dataclass
class Written:
    """What was written: the number of trajectories, and a sentence about each that or of which a part was left out."""

    trajectories: int = 0
    left_out: list[str] = field(default_factory=list)


def export_as(
    kind: Format,
    sources: Iterable[Source],
    out: Path,
    clean: Callable[[str], str],
    keep: Callable[[Episode], bool] = lambda episode: True,
) -> Written:
    """Write the trajectories of all tables to a new folder.

    Args:
        kind: of the files; one that writes.
        clean: removes secrets from a text (`components.redaction`).
        keep: which episodes are exported.

    Raises:
        ExportError: the format is only read, the folder exists and is not empty, two tables hold the same trajectory,
            or no trajectory is left.
    """
    if not kind.writes:
        raise ExportError(f"the format {kind.name} is only read: export as one that is written, such as atif")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ExportError(f"{out} exists and is not empty: name a new folder, or remove it first")
    partial = out.with_name(f".{out.name}.{os.getpid()}.part")
    written = Written()
    tables: dict[str, Path] = {}
    try:
        partial.mkdir(parents=True)
        for source in sources:
            for episode in filter(keep, source.episodes()):
                trajectory = episode.trajectory
                first = tables.setdefault(trajectory.trajectory_id, source.table)
                if first != source.table:
                    raise ExportError(
                        f"{trajectory.trajectory_id} is in {first} and in {source.table}: name one of them"
                    )
                try:
                    written.left_out += kind.write(trajectory, episode.verdict, partial, clean)
                    written.trajectories += 1
                except NotWritable as error:
                    written.left_out.append(f"{trajectory.trajectory_id}: {error}")
        if not written.trajectories:
            reason = f" ({written.left_out[0]})" if written.left_out else ""
            raise ExportError(f"no trajectory is left to export{reason}: name other tables, or leave out --only")
        kind.finish(partial)
        publish(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return written
