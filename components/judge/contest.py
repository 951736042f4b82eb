"""Several judges on the same labelled trajectories: what `waymark judge calibrate` compares.

A judge is named `rules` (which ask `judge.endpoint`, if there is one, where only a model can tell), `distilled` (the
one in `models/judge/distilled`), or by a protocol, by which the recipe's `judge.endpoint` and voters are asked; `vote`
is what most of the judges beside it say, the rules apart. Verdicts that somebody gave before take part by a name and
their table.

Trajectories are read once per judge and never all held: their screenshots would not fit.
"""

from __future__ import annotations

import asyncio
import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from components.endpoint import ANSWERS
from components.judge.agent_reward_bench import iter_trajectories, read_annotations
from components.judge.assisted import assisted_rules
from components.judge.calibration import Calibration, calibrate
from components.judge.clients import JudgeClients
from components.judge.model_judge import ModelJudge
from components.judge.protocols import PROTOCOLS, voted
from components.judge.rules import rules_verdict
from components.params import Params
from components.records import Outcome, Trajectory, Verdict
from components.store import iter_table

DISTILLED = Path("models/judge/distilled")
NAMES = ("rules", "distilled", *PROTOCOLS, "vote")
VOTERS = 3
"""Judges that a vote needs beside it, at least."""
BATCH = 32

Read = Callable[[], Iterable[Trajectory]]
"""Begins to read the trajectories anew."""


class CannotCompare(ValueError):
    """The question makes no sense as it was put; the message says how to put it."""


def read_labels(path: Path) -> dict[str, Outcome]:
    """Labels by trajectory id: a table of verdicts, AgentRewardBench's annotations, or a CSV file with the columns
    `trajectory_id` and `outcome` (success or failure). What is neither success nor failure is no label.

    Raises:
        CannotCompare: it is none of them, or empty.
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


def contest(
    read: Read,
    labels: Mapping[str, Outcome],
    names: Sequence[str],
    tables: Mapping[str, Path],
    params: Params,
    state: Path,
) -> list[Calibration]:
    """Each judge held against the labels, in the order of their names, the tables last.

    Args:
        tables: verdicts that are already there, by the name that they shall have.
        state: the folder in which what models cost is counted.

    Raises:
        CannotCompare: a judge is unknown or not there, or no trajectory has a label.
        NothingToCompare: a judge could not be asked about any of them.
    """
    tasks = {one.trajectory_id: one.task_id for one in read() if one.trajectory_id in labels}
    if not tasks:
        raise CannotCompare(f"none of the {len(labels)} labels is on one of these trajectories: name their own labels")
    _check(names, tables, params)

    def labelled() -> Iterator[Trajectory]:
        return (one for one in read() if one.trajectory_id in tasks)

    said = asyncio.run(_ask([name for name in names if name != "vote"], labelled, params, state))
    said |= {name: _from_table(path, tasks) for name, path in tables.items()}
    if "vote" in names:
        voters = [of for name, of in said.items() if name != "rules"]
        said["vote"] = {key: voted([of[key] for of in voters]) for key in tasks}
    evaluation = params.evaluation
    return [
        calibrate(
            name,
            [tasks[key] for key in sorted(tasks)],
            [labels[key] for key in sorted(tasks)],
            [verdicts[key] for key in sorted(tasks)],
            evaluation.bootstrap,
            params.seed,
        )
        for name, verdicts in said.items()
    ]


def _check(names: Sequence[str], tables: Mapping[str, Path], params: Params) -> None:
    for name in names:
        if name not in NAMES:
            raise CannotCompare(f"no judge {name!r}: one of {', '.join(NAMES)}")
        if name == "distilled" and not DISTILLED.exists():
            raise CannotCompare(f"{DISTILLED} is not there: `dvc repro distill_judge` makes it")
        if name not in ("rules", "distilled", "vote") and params.judge.endpoint is None:
            raise CannotCompare(f"{name} asks a model: name it in judge.endpoint of the recipe")
    voting = len({*names, *tables} - {"rules", "vote"})
    if "vote" in names and (voting < VOTERS or voting % 2 == 0):
        raise CannotCompare(
            f"a vote needs {VOTERS} judges beside it or another odd number, the rules apart, and these are {voting}"
        )


async def _ask(names: Sequence[str], labelled: Read, params: Params, state: Path) -> dict[str, dict[str, Verdict]]:
    """Verdicts by judge and trajectory."""
    said = {}
    async with JudgeClients(params.judge, state, ANSWERS) as clients:
        for name in names:
            if name == "rules" and params.judge.endpoint is None:
                verdicts = [rules_verdict(one) for one in labelled()]
            elif name == "rules":
                verdicts = await assisted_rules(labelled(), ModelJudge(params.judge, clients))
            elif name == "distilled":
                verdicts = _distilled(labelled, params)
            else:
                judge = params.judge.model_copy(update={"protocol": name})
                verdicts = await ModelJudge(judge, clients)(labelled())
            said[name] = {verdict.trajectory_id: verdict for verdict in verdicts}
    return said


def _distilled(labelled: Read, params: Params) -> list[Verdict]:
    from components.judge.distilled import DistilledJudge  # torch
    from components.policies import VLM

    judge = DistilledJudge(VLM.load(DISTILLED, params.model), "calibrated", params, BATCH)
    remaining, verdicts = iter(labelled()), []
    while batch := list(islice(remaining, BATCH)):
        verdicts += judge.judge(batch)
    return verdicts


def _from_table(path: Path, tasks: Mapping[str, str]) -> dict[str, Verdict]:
    found = {verdict.trajectory_id: verdict for verdict in iter_table(path, Verdict)}
    return {key: found.get(key) or _missing(key, f"no verdict in {path}") for key in tasks}


def _missing(key: str, why: str) -> Verdict:
    return Verdict(trajectory_id=key, outcome=Outcome.ERROR, rationale=why, judge="none", judge_version="")


def _outcome(text: str, where: str) -> Outcome:
    try:
        return Outcome(text.strip().lower())
    except ValueError as error:
        raise CannotCompare(f"{where}: outcome is {text!r}, not success or failure") from error
