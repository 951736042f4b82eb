"""Reads labels (this project's tables, AgentRewardBench's files, a CSV file) and the trajectories that have them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pydantic import ValidationError

from components.formats import Damaged, Format, UnknownFormat, Unreadable, format_of
from components.formats.agent_reward_bench import AgentRewardBench, iter_trajectories
from components.formats.files import problems
from components.judge.csv_tables import read_csv
from components.judge.expert_annotations import read_experts
from components.records import Outcome, Trajectory, Verdict
from components.store import UnreadableTable, iter_named_table, iter_rows

_LABELS = {Outcome.SUCCESS, Outcome.FAILURE}


class CannotCompare(ValueError):
    """Judges or labels that cannot be compared; the message says what to change."""


class Labels(NamedTuple):
    """Labels by trajectory id, success or failure, and a sentence about each row that gives none."""

    outcomes: dict[str, Outcome]
    left_out: list[str]


def read_labels(path: Path) -> Labels:
    """Read a table of verdicts, AgentRewardBench's annotations, or a CSV file with the columns `trajectory_id` and
    `outcome`.

    Rows that are short, or have another outcome, trajectories of which the primary expert is unsure, and those that are
    labelled both success and failure are left out.

    Raises:
        CannotCompare: the file cannot be read, has none of these formats, a column twice, or no label.
        Unreadable: AgentRewardBench's annotations differ from the published form.
    """
    rows, left_out = _rows(path)
    outcomes: dict[str, Outcome] = {}
    contradicted = set()
    for key, label in rows:
        if outcomes.setdefault(key, label) is not label:
            contradicted.add(key)
    left_out += [f"{path}: {key} is labelled success and failure" for key in sorted(contradicted)]
    outcomes = {key: label for key, label in outcomes.items() if key not in contradicted}
    if not outcomes:
        reason = f" ({left_out[0]})" if left_out else ""
        raise CannotCompare(f"{path}: nothing is labelled success or failure{reason}")
    return Labels(outcomes, left_out)


def _rows(path: Path) -> tuple[list[tuple[str, Outcome]], list[str]]:
    """Pairs of trajectory id and label, and a sentence about each row that is no such pair."""
    if path.suffix == ".parquet":
        return _rows_of_verdicts(path)
    columns, numbered = read_csv(path, CannotCompare)
    if "trajectory_success" in columns:
        return _rows_of_experts(path)
    if not {"trajectory_id", "outcome"} <= set(columns):
        raise CannotCompare(
            f"{path}: no labels; it must be a verdicts.parquet, AgentRewardBench's annotations.csv, or a CSV "
            "file with the columns trajectory_id and outcome"
        )
    rows, left_out = [], []
    for line, row in numbered:
        key, outcome, where = row["trajectory_id"], row["outcome"], f"{path}:{line}"
        if not (key or "").strip() or outcome is None or None in row:
            left_out.append(f"{where}: the row has not the {len(columns)} values of the columns")
        elif outcome.strip().lower() not in _LABELS:
            left_out.append(f"{where}: outcome is {outcome!r}, not success or failure")
        else:
            rows.append((key.strip(), Outcome(outcome.strip().lower())))
    return rows, left_out


def _rows_of_verdicts(path: Path) -> tuple[list[tuple[str, Outcome]], list[str]]:
    rows, left_out = [], []
    try:
        for number, verdict in enumerate(iter_rows(path, Verdict)):
            where = f"{path} row {number}"
            if isinstance(verdict, Exception):
                reason = problems(verdict) if isinstance(verdict, ValidationError) else str(verdict)
                left_out.append(f"{where} is no verdict ({reason})")
            elif verdict.outcome not in _LABELS:
                left_out.append(f"{where}: outcome is {verdict.outcome.value!r}, not success or failure")
            else:
                rows.append((verdict.trajectory_id, verdict.outcome))
    except (pa.ArrowException, OSError, KeyError) as error:
        raise CannotCompare(f"{path} is not a table of verdicts that can be read: {error}") from error
    return rows, left_out


def _rows_of_experts(path: Path) -> tuple[list[tuple[str, Outcome]], list[str]]:
    """The labels of the primary experts."""
    rows: list[tuple[str, Outcome]] = []
    left_out: list[str] = []
    for key, (primary, *_) in read_experts(path, left_out).items():
        where = f"{path}:{primary.line}:"
        if primary.success is None:
            if not any(text.startswith(where) for text in left_out):
                left_out.append(f"{where} the primary expert is unsure whether it is a success")
        else:
            rows.append((key, primary.success))
    return rows, left_out


def read_verdicts(path: Path) -> list[Verdict]:
    """The verdicts of a table.

    Raises:
        CannotCompare: the file is no such table.
    """
    try:
        return list(iter_named_table(path, Verdict))
    except UnreadableTable as error:
        raise CannotCompare(f"{error}: name a verdicts.parquet") from error


def read_trajectories(path: Path, labelled: Container[str] = ()) -> Iterator[Trajectory]:
    """The trajectories of a trajectories.parquet, or of another file or folder in one of the `formats`, one in memory
    at a time. Damaged records have no id, so no label is theirs, and they are left out.

    Args:
        labelled: the ids of the trajectories that judges are asked about.

    Raises:
        CannotCompare: the file is no table of trajectories, or the format of the folder is not recognised.
        Unreadable: a screenshot of a labelled trajectory is missing; of AgentRewardBench's files see
            `iter_trajectories`.
    """
    kind = _format_of(path)
    try:
        if path.is_file() and (kind is None or path.suffix == ".parquet"):
            yield from iter_named_table(path, Trajectory)
        elif kind is None:
            raise UnreadableTable(f"{path} is in none of the formats of `waymark judge run`, or in several of them")
        elif is_agent_reward_bench(path):
            yield from iter_trajectories(path)
        else:
            yield from _published(path, kind, labelled)
    except UnreadableTable as error:
        raise CannotCompare(
            f"{error}: name a trajectories.parquet, AgentRewardBench's folder `trajectories`, or a file or folder in "
            "another format of `waymark judge run`"
        ) from error


def is_agent_reward_bench(path: Path) -> bool:
    """Whether a path is AgentRewardBench's folder `trajectories`."""
    return AgentRewardBench().recognises(path)


def _format_of(path: Path) -> Format | None:
    try:
        return format_of(path)
    except UnknownFormat:
        return None


def _published(path: Path, kind: Format, labelled: Container[str]) -> Iterator[Trajectory]:
    for record in kind.read(path):
        if isinstance(record, Damaged):
            continue
        if record.missing and record.trajectory.trajectory_id in labelled:
            raise Unreadable(
                f"{record.place} is labelled, but {record.missing[0]}: copy the screenshot, or remove the label of "
                f"{record.trajectory.trajectory_id}"
            )
        yield record.trajectory
