"""Asks several judges about the same labelled trajectories (`waymark judge calibrate`).

The figures of one judge are computed in `calibration`. The judges are those of `judges`; `vote` is the majority of the
others, without `rules` and `functional`. Tables of earlier verdicts take part under a name.

Trajectories are read once per judge and are never all in memory, because of their screenshots.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from components.endpoint import ANSWERS
from components.judge.calibration import Calibration, NothingToCompare, calibrate
from components.judge.clients import JudgeClients
from components.judge.false_positives import by_kind
from components.judge.judges import judge_named, judge_names, require_judge
from components.judge.labels import CannotCompare, read_verdicts
from components.judge.protocols import JudgeProtocol, voted
from components.judge.truth import truth_of
from components.params import Params
from components.records import Outcome, Trajectory, Verdict

_NO_VOTERS = ("rules", "functional")
MIN_VOTERS = 3
"""Least number of judges beside a vote."""

Read = Callable[[], Iterable[Trajectory]]
"""Iterates over the trajectories from the beginning."""


class Calibrated(NamedTuple):
    """Calibrations of all judges, overall and by group.

    `without_trajectory` counts labels that nothing belongs to, and `repeated` labelled trajectories that have the id of
    an earlier one, which are left out; `without_verdict` names judges that gave no verdict on any labelled trajectory,
    and are in no table.
    """

    overall: list[Calibration]
    by_group: dict[str, list[Calibration]]
    without_trajectory: int
    repeated: int
    without_verdict: list[str]


def calibrate_judges(
    read: Read,
    labels: Mapping[str, Outcome],
    names: Sequence[str],
    tables: Mapping[str, Path],
    params: Params,
    state: Path,
    group_of: Callable[[Trajectory], str] | None = None,
    further: Mapping[str, JudgeProtocol] | None = None,
) -> Calibrated:
    """Compare each judge with the labels, in the order of `names`, the tables last.

    Args:
        read: iterates over the trajectories; called once per judge.
        labels: success or failure by trajectory id.
        names: of judges (`judge_named`), or `vote`.
        tables: files of earlier verdicts, by the name that each gets in the result.
        state: the folder of the files that count what models cost.
        group_of: the group of a trajectory, such as its benchmark; None for no groups.
        further: protocols beside those that are found by name.

    Raises:
        CannotCompare: a judge is unknown, a table has the name of a judge, cannot be read or contradicts itself, or no
            trajectory has a label.
        UnavailableJudge: a judge is not available.
        NothingToCompare: no judge gave a verdict on any of them.
    """
    tasks: dict[str, str] = {}
    kinds: dict[str, str] = {}
    groups: dict[str, str] = {}
    repeated = 0
    for trajectory in read():
        if trajectory.trajectory_id in tasks:
            repeated += 1
        elif trajectory.trajectory_id in labels:
            tasks[trajectory.trajectory_id] = trajectory.task_id
            if kind := truth_of(trajectory).failure:
                kinds[trajectory.trajectory_id] = kind
            if group_of is not None:
                groups[trajectory.trajectory_id] = group_of(trajectory)
    if not tasks:
        raise CannotCompare(
            f"none of the {len(labels)} labels belongs to one of these trajectories: name the labels that do"
        )
    further = further or {}
    _require_available(names, tables, params, further)
    given = {name: _from_table(path, tasks) for name, path in tables.items()}

    def labelled() -> Iterator[Trajectory]:
        seen: set[str] = set()
        for trajectory in read():
            if trajectory.trajectory_id in tasks and trajectory.trajectory_id not in seen:
                seen.add(trajectory.trajectory_id)
                yield trajectory

    verdicts_by_judge = asyncio.run(
        _judge([name for name in names if name != "vote"], labelled, params, state, further)
    )
    verdicts_by_judge |= given
    if "vote" in names:
        voters = [verdicts for name, verdicts in verdicts_by_judge.items() if name not in _NO_VOTERS]
        verdicts_by_judge["vote"] = {key: voted([verdicts[key] for verdicts in voters]) for key in tasks}
    evaluation = params.evaluation

    def calibrated(name: str, verdicts: Mapping[str, Verdict], keys: Sequence[str]) -> Calibration:
        paired = [tasks[key] for key in keys], [labels[key] for key in keys], [verdicts[key] for key in keys]
        calibration = calibrate(name, *paired, evaluation.bootstrap, params.seed)
        parts = by_kind([kinds.get(key) for key in keys], *paired)
        return calibration.model_copy(update={"false_positives_by_kind": parts})

    silent = [
        name
        for name, verdicts in verdicts_by_judge.items()
        if all(verdict.outcome is Outcome.ERROR for verdict in verdicts.values())
    ]
    if len(silent) == len(verdicts_by_judge):
        reason = next(iter(verdicts_by_judge[silent[0]].values())).rationale
        raise NothingToCompare(
            f"{', '.join(silent)}: no verdict on any of the {len(tasks)} labelled trajectories; the first says: "
            f"{reason}. Correct the cause, or name judges that can decide these tasks"
        )
    overall = [
        calibrated(name, verdicts, sorted(tasks)) for name, verdicts in verdicts_by_judge.items() if name not in silent
    ]
    by_group: dict[str, list[Calibration]] = {}
    for group in sorted(set(groups.values())):
        keys = [key for key in sorted(tasks) if groups[key] == group]
        by_group[group] = [
            calibrated(name, verdicts, keys)
            for name, verdicts in verdicts_by_judge.items()
            if any(verdicts[key].outcome is not Outcome.ERROR for key in keys)
        ]
    return Calibrated(overall, by_group, len(labels) - len(tasks), repeated, silent)


def _require_available(
    names: Sequence[str], tables: Mapping[str, Path], params: Params, further: Mapping[str, JudgeProtocol]
) -> None:
    for name in names:
        if name != "vote":
            require_judge(name, params.judge, further)
    if taken := [name for name in tables if name in (*judge_names(), "vote", *further, *names)]:
        raise CannotCompare(f"--verdicts {taken[0]}=…: {taken[0]} is the name of a judge; give the table another name")
    voters = len({*names, *tables} - {*_NO_VOTERS, "vote"})
    if "vote" in names and (voters < MIN_VOTERS or voters % 2 == 0):
        raise CannotCompare(
            f"a vote needs {MIN_VOTERS} judges beside it or a larger odd number, without `rules`; these are {voters}"
        )


async def _judge(
    names: Sequence[str], labelled: Read, params: Params, state: Path, further: Mapping[str, JudgeProtocol]
) -> dict[str, dict[str, Verdict]]:
    """Verdicts by judge and trajectory id."""
    by_judge: dict[str, dict[str, Verdict]] = {}
    async with JudgeClients(params.judge.model, state, ANSWERS) as clients:
        for name in names:
            verdicts = by_judge.setdefault(name, {})

            def keep(verdict: Verdict, verdicts: dict[str, Verdict] = verdicts) -> None:
                verdicts[verdict.trajectory_id] = verdict

            limit = await judge_named(name, params, clients, further).judge(labelled(), keep)
            if limit is not None:
                raise limit
    return by_judge


def _from_table(path: Path, tasks: Mapping[str, str]) -> dict[str, Verdict]:
    verdicts: dict[str, Verdict] = {}
    for verdict in read_verdicts(path):
        if verdicts.setdefault(verdict.trajectory_id, verdict).outcome is not verdict.outcome:
            raise CannotCompare(f"{path} has different verdicts on {verdict.trajectory_id}: leave one of them")
    return {key: verdicts.get(key) or _missing_verdict(key, path) for key in tasks}


def _missing_verdict(trajectory_id: str, path: Path) -> Verdict:
    return Verdict(
        trajectory_id=trajectory_id,
        outcome=Outcome.ERROR,
        rationale=f"no verdict in {path}",
        judge="none",
        judge_version="",
    )
