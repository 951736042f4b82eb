"""Reads labelled trajectories: this project's tables, AgentRewardBench's files, or a CSV file of labels."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from components.formats.agent_reward_bench import iter_trajectories
from components.judge.expert_annotations import read_annotations
from components.records import Outcome, Trajectory, Verdict
from components.store import UnreadableTable, iter_named_table


class CannotCompare(ValueError):
    """Judges or labels that cannot be compared; the message says what to change."""


class Labels(NamedTuple):
    """Labels by trajectory id, success or failure, and a sentence about each row that gives none."""

    outcomes: dict[str, Outcome]
    left_out: list[str]


def read_labels(path: Path) -> Labels:
    """Read a table of verdicts, AgentRewardBench's annotations, or a CSV file with the columns `trajectory_id` and
    `outcome`.

    Rows that are short, or have another outcome, and trajectories that are labelled both success and failure are left
    out.

    Raises:
        CannotCompare: the file has none of these formats, or no label.
        Unreadable: AgentRewardBench's annotations differ from the published form.
    """
    rows, left_out = _rows(path)
    outcomes: dict[str, Outcome] = {}
    contradicted = set()
    for key, label in rows:
        if label in (Outcome.SUCCESS, Outcome.FAILURE) and outcomes.setdefault(key, label) is not label:
            contradicted.add(key)
    left_out += [f"{path}: {key} is labelled success and failure" for key in sorted(contradicted)]
    outcomes = {key: label for key, label in outcomes.items() if key not in contradicted}
    if not outcomes:
        reason = f" ({left_out[0]})" if left_out else ""
        raise CannotCompare(f"{path}: nothing is labelled success or failure{reason}")
    return Labels(outcomes, left_out)


def _rows(path: Path) -> tuple[list[tuple[str, Outcome]], list[str]]:
    """Pairs of trajectory id and outcome, and a sentence about each row that is no such pair."""
    if path.suffix == ".parquet":
        return [(verdict.trajectory_id, verdict.outcome) for verdict in read_verdicts(path)], []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CannotCompare(f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8") from error
    except IsADirectoryError as error:
        raise CannotCompare(f"{path} is a folder: name a file of labels") from error
    table = csv.DictReader(io.StringIO(text, newline=""))
    columns = table.fieldnames or []
    if "trajectory_success" in columns:
        return list(read_annotations(path).items()), []
    if not {"trajectory_id", "outcome"} <= set(columns):
        raise CannotCompare(
            f"{path}: no labels; it must be a verdicts.parquet, AgentRewardBench's annotations.csv, or a CSV "
            "file with the columns trajectory_id and outcome"
        )
    rows, left_out = [], []
    for row in table:
        key, outcome, where = row["trajectory_id"], row["outcome"], f"{path}:{table.line_num}"
        if not key or outcome is None or None in row:
            left_out.append(f"{where}: the row has not the {len(columns)} values of the columns")
        elif outcome.strip().lower() not in {*Outcome}:
            left_out.append(f"{where}: outcome is {outcome!r}, not success or failure")
        else:
            rows.append((key.strip(), Outcome(outcome.strip().lower())))
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


def read_trajectories(path: Path) -> Iterator[Trajectory]:
    """A trajectories.parquet, or AgentRewardBench's folder `trajectories`, one in memory at a time.

    Raises:
        CannotCompare: the file is no table of trajectories.
        Unreadable: see `iter_trajectories`.
    """
    try:
        yield from iter_trajectories(path) if path.is_dir() else iter_named_table(path, Trajectory)
    except UnreadableTable as error:
        raise CannotCompare(
            f"{error}: name a trajectories.parquet, or AgentRewardBench's folder `trajectories`"
        ) from error
