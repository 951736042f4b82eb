"""Asks several judges about the same labelled trajectories (`waymark judge calibrate`).

The figures of one judge are computed in `calibration`. A judge is named `rules` (which ask `judge.model`, if the
recipe has one, where only a model can decide), `functional` (the benchmark's own reward above 0.5, as AgentRewardBench
scores it; `rules` want the whole reward), `distilled` (the model in `models/judge/distilled`), or by a protocol,
by which the recipe's `judge.model` judges. `vote` is the majority of the other judges, without `rules`.
Tables of earlier verdicts take part under a name.

Trajectories are read once per judge and are never all in memory, because of their screenshots.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from components.endpoint import ANSWERS
from components.judge.assisted import assisted_rules
from components.judge.calibration import Calibration, calibrate
from components.judge.clients import JudgeClients
from components.judge.false_positives import by_kind
from components.judge.labels import CannotCompare
from components.judge.model_judge import ModelJudge
from components.judge.protocols import PROTOCOLS, voted
from components.judge.rules import rules_verdict
from components.judge.truth import truth_of
from components.params import JudgeParams, Params
from components.records import Outcome, Trajectory, Verdict
from components.store import iter_table

DISTILLED = Path("models/judge/distilled")
NAMES = ("rules", "functional", "distilled", *PROTOCOLS, "vote")
_NO_VOTERS = ("rules", "functional")
MIN_VOTERS = 3
"""Least number of judges beside a vote."""
BATCH = 32
"""Trajectories that the distilled judge reads at once."""

FUNCTIONAL = 0.5
"""AgentRewardBench's threshold for a benchmark's own reward (its `score_judgments.py`)."""

Read = Callable[[], Iterable[Trajectory]]
"""Iterates over the trajectories from the beginning."""


def available_judges(params: JudgeParams) -> list[str]:
    """The judges that a recipe can ask: `rules`, `distilled` if it is trained, and the protocol of `judge.model`."""
    names = ["rules"]
    if DISTILLED.exists():
        names.append("distilled")
    if params.model is not None:
        names.append(params.model.protocol)
    return names


class Calibrated(NamedTuple):
    """Calibrations of all judges, overall and by group; `without_trajectory` counts labels that nothing belongs to."""

    overall: list[Calibration]
    by_group: dict[str, list[Calibration]]
    without_trajectory: int


def calibrate_judges(
    read: Read,
    labels: Mapping[str, Outcome],
    names: Sequence[str],
    tables: Mapping[str, Path],
    params: Params,
    state: Path,
    group_of: Callable[[Trajectory], str] | None = None,
) -> Calibrated:
    """Compare each judge with the labels, in the order of `names`, the tables last.

    Args:
        read: iterates over the trajectories; called once per judge.
        labels: success or failure by trajectory id.
        names: of `NAMES`.
        tables: files of earlier verdicts, by the name that each gets in the result.
        state: the folder of the files that count what models cost.
        group_of: the group of a trajectory, such as its benchmark; None for no groups.

    Raises:
        CannotCompare: a judge is unknown or not available, or no trajectory has a label.
        NothingToCompare: a judge gave no verdict on any of them.
    """
    tasks: dict[str, str] = {}
    kinds: dict[str, str] = {}
    groups: dict[str, str] = {}
    for trajectory in read():
        if trajectory.trajectory_id in labels:
            tasks[trajectory.trajectory_id] = trajectory.task_id
            if kind := truth_of(trajectory).failure:
                kinds[trajectory.trajectory_id] = kind
            if group_of is not None:
                groups[trajectory.trajectory_id] = group_of(trajectory)
    if not tasks:
        raise CannotCompare(
            f"none of the {len(labels)} labels belongs to one of these trajectories: name the labels that do"
        )
    _require_available(names, tables, params)

    def labelled() -> Iterator[Trajectory]:
        return (trajectory for trajectory in read() if trajectory.trajectory_id in tasks)

    verdicts_by_judge = asyncio.run(_judge([name for name in names if name != "vote"], labelled, params, state))
    verdicts_by_judge |= {name: _from_table(path, tasks) for name, path in tables.items()}
    if "vote" in names:
        voters = [verdicts for name, verdicts in verdicts_by_judge.items() if name not in _NO_VOTERS]
        verdicts_by_judge["vote"] = {key: voted([verdicts[key] for verdicts in voters]) for key in tasks}
    evaluation = params.evaluation

    def calibrated(name: str, verdicts: Mapping[str, Verdict], keys: Sequence[str]) -> Calibration:
        paired = [tasks[key] for key in keys], [labels[key] for key in keys], [verdicts[key] for key in keys]
        calibration = calibrate(name, *paired, evaluation.bootstrap, params.seed)
        parts = by_kind([kinds.get(key) for key in keys], *paired, evaluation.bootstrap, params.seed)
        return calibration.model_copy(update={"false_positives_by_kind": parts})

    overall = [calibrated(name, verdicts, sorted(tasks)) for name, verdicts in verdicts_by_judge.items()]
    by_group: dict[str, list[Calibration]] = {}
    for group in sorted(set(groups.values())):
        keys = [key for key in sorted(tasks) if groups[key] == group]
        by_group[group] = [
            calibrated(name, verdicts, keys)
            for name, verdicts in verdicts_by_judge.items()
            if any(verdicts[key].outcome is not Outcome.ERROR for key in keys)
        ]
    return Calibrated(overall, by_group, len(labels) - len(tasks))


def _require_available(names: Sequence[str], tables: Mapping[str, Path], params: Params) -> None:
    for name in names:
        if name not in NAMES:
            raise CannotCompare(f"no judge {name!r}: one of {', '.join(NAMES)}")
        if name == "distilled" and not DISTILLED.exists():
            raise CannotCompare(f"{DISTILLED} does not exist: `dvc repro distill_judge` makes it")
        if name not in ("rules", "functional", "distilled", "vote") and params.judge.model is None:
            raise CannotCompare(f"{name} asks a model: name it in judge.model.endpoint of the recipe")
    voters = len({*names, *tables} - {*_NO_VOTERS, "vote"})
    if "vote" in names and (voters < MIN_VOTERS or voters % 2 == 0):
        raise CannotCompare(
            f"a vote needs {MIN_VOTERS} judges beside it or a larger odd number, without `rules`; these are {voters}"
        )


async def _judge(names: Sequence[str], labelled: Read, params: Params, state: Path) -> dict[str, dict[str, Verdict]]:
    """Verdicts by judge and trajectory id."""
    by_judge = {}
    model = params.judge.model
    async with JudgeClients(model, state, ANSWERS) as clients:
        for name in names:
            if name == "distilled":
                verdicts = _distilled(labelled, params)
            elif name == "functional":
                verdicts = [_functional(trajectory) for trajectory in labelled()]
            elif model is None:
                verdicts = [rules_verdict(trajectory) for trajectory in labelled()]
            elif name == "rules":
                verdicts = await assisted_rules(labelled(), ModelJudge(model, clients))
            else:
                judge = model.model_copy(update={"protocol": name})
                verdicts = await ModelJudge(judge, clients)(labelled())
            by_judge[name] = {verdict.trajectory_id: verdict for verdict in verdicts}
    return by_judge


def _distilled(labelled: Read, params: Params) -> list[Verdict]:
    from components.judge.distilled import DistilledJudge  # imports torch
    from components.model import VLM

    judge = DistilledJudge(VLM.load(DISTILLED, params.model), "calibrated", params, BATCH)
    remaining, verdicts = iter(labelled()), []
    while batch := list(islice(remaining, BATCH)):
        verdicts += judge.judge(batch)
    return verdicts


def _functional(trajectory: Trajectory) -> Verdict:
    reward = trajectory.site_reward
    outcome = Outcome.ERROR if reward is None else Outcome.SUCCESS if reward > FUNCTIONAL else Outcome.FAILURE
    return Verdict(
        trajectory_id=trajectory.trajectory_id,
        outcome=outcome,
        rationale="the record has no reward of its benchmark" if reward is None else f"the reward is {reward:g}",
        judge="functional",
        judge_version="1",
    )


def _from_table(path: Path, tasks: Mapping[str, str]) -> dict[str, Verdict]:
    verdicts = {verdict.trajectory_id: verdict for verdict in iter_table(path, Verdict)}
    return {key: verdicts.get(key) or _missing_verdict(key, path) for key in tasks}


def _missing_verdict(trajectory_id: str, path: Path) -> Verdict:
    return Verdict(
        trajectory_id=trajectory_id,
        outcome=Outcome.ERROR,
        rationale=f"no verdict in {path}",
        judge="none",
        judge_version="",
    )
