"""Reads labelled trajectories: this project's tables, AgentRewardBench's files, or a CSV file of labels."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from components.judge.agent_reward_bench import iter_trajectories, read_annotations
from components.records import Outcome, Trajectory, Verdict
from components.store import iter_table


class CannotCompare(ValueError):
    """Judges or labels that cannot be compared; the message says what to change."""


def read_labels(path: Path) -> dict[str, Outcome]:
    """Labels by trajectory id: a table of verdicts, AgentRewardBench's annotations, or a CSV file with the columns
    `trajectory_id` and `outcome`. Rows with other outcomes than success and failure are left out.

    Raises:
        CannotCompare: the file has none of these formats, or no label.
    """
    if path.suffix == ".parquet":
        labels = {verdict.trajectory_id: verdict.outcome for verdict in iter_table(path, Verdict)}
    else:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            columns = rows.fieldnames or []
            if {"trajectory_id", "outcome"} <= set(columns):
                labels = {row["trajectory_id"]: _outcome(row["outcome"], f"{path}:{rows.line_num}") for row in rows}
            elif "trajectory_success" in columns:
                labels = read_annotations(path)
            else:
                raise CannotCompare(
                    f"{path}: no labels; it must be a verdicts.parquet, AgentRewardBench's annotations.csv, or a CSV "
                    "file with the columns trajectory_id and outcome"
                )
    labels = {key: label for key, label in labels.items() if label in (Outcome.SUCCESS, Outcome.FAILURE)}
    if not labels:
        raise CannotCompare(f"{path}: nothing is labelled success or failure")
    return labels


def read_trajectories(path: Path) -> Iterator[Trajectory]:
    """A trajectories.parquet, or AgentRewardBench's folder `trajectories`, one in memory at a time."""
    return iter_trajectories(path) if path.is_dir() else iter_table(path, Trajectory)


def _outcome(text: str, where: str) -> Outcome:
    try:
        return Outcome(text.strip().lower())
    except ValueError as error:
        raise CannotCompare(f"{where}: outcome is {text!r}, not success or failure") from error
