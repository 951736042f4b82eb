"""What the runs of a study found: success by task, learning curves and times, read from the runs' folders."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from components import store
from components.evaluation import Episode, EvaluationError, headline, join_verdicts, scores, summarise_actions
from components.records import Record, Trajectory, Verdict
from components.reports.rl_validation import WatchedPhase
from components.reports.stage_output import StageOutput, parsed, read_result
from components.reports.stage_results import PHASES, RLIteration
from components.statistics import SuccessRate, success_rate
from components.store import UnreadableTable, iter_named_table, read_json
from components.study.expansion import Run, Study

FOLDER = store.STATE / "studies"


class Curve(Record):
    """A figure by RL iteration, counted over both phases: (iteration, share of 1)."""

    points: list[tuple[float, float]] = Field(default_factory=list)


class RunResult(Record):
    """One run. `state` is that of the runner: finished, failed, blocked (by another run's failure) or unfinished.

    `success` is over the test tasks and `heldout` over those of families that are never trained on; both are None
    unless the run is finished. If there are no others, the held-out tasks are the test tasks. `before` is the success
    of the policy before RL, None without RL. `families` has the success on the test tasks by family, `families_before`
    that before RL. `episodes` is the number of RL's episodes, of both phases; None without RL, or in results of older
    versions. `ran` are the stages whose command ran in this run's folder, with their seconds; the others came from
    another run or an earlier one. `validation` and `training` are curves of success and of reward.
    """

    name: str
    arm: str
    seed: int
    state: str
    stage: str = ""
    log: str = ""
    error: str = ""
    commit: str = ""
    """Of the project when the run was finished; empty for other runs, and in results of older versions."""
    success: SuccessRate | None = None
    heldout: SuccessRate | None = None
    before: SuccessRate | None = None
    heldout_before: SuccessRate | None = None
    families: dict[str, float] = Field(default_factory=dict)
    families_before: dict[str, float] = Field(default_factory=dict)
    actions: float | None = None
    """Mean number of actions of a success."""
    actions_of_teacher: float | None = None
    """These actions divided by those of the teacher on as many successes of the same families; None without any."""
    episodes: float | None = None
    ran: dict[str, float] = Field(default_factory=dict)
    rl_seconds: float | None = None
    """Seconds of both phases of RL; None unless both ran in this run's folder."""
    validation: Curve = Curve()
    training: Curve = Curve()


class Measured(Record):
    """A run with its success by task: of the test tasks, and of the held-out ones; both before RL, too."""

    run: RunResult
    tested: dict[str, float | None] = Field(default_factory=dict)
    heldout: dict[str, float | None] = Field(default_factory=dict)
    before: dict[str, float | None] = Field(default_factory=dict)
    heldout_before: dict[str, float | None] = Field(default_factory=dict)
    family_of: dict[str, str] = Field(default_factory=dict)
    """The family of each task."""


class _Phase(WatchedPhase):
    iterations: list[RLIteration]
    wall_s: float | None = None


class _RunState(StageOutput):
    """A run in `runs.json`, as the runner writes it (`flows.study`)."""

    state: str = "unfinished"
    recipe: str = ""
    stage: str = ""
    log: str = ""
    error: str = ""
    commit: str = ""


def read_runs(study: Study, folder: Path | None = None) -> list[Measured]:
    """All runs of a study, finished or not. A run is unfinished if the study has changed its recipe since, or if a file
    of its results is missing.

    Args:
        folder: that of the study; None is the one in `.waymark/studies`.

    Raises:
        EvaluationError: a file cannot be read, or a finished run has trajectories without verdicts.
    """
    folder = folder or FOLDER / study.name
    states = _states(study, folder / "runs.json")
    ran = _stages_that_ran(folder / "events.jsonl")
    return [
        _read_run(study, run, folder / run.name, states.get(run.name, _RunState()), ran.get(run.name, {}))
        for run in study.runs
    ]


def _stages_that_ran(path: Path) -> dict[str, dict[str, float]]:
    """By run, the stages whose outputs its own folder computed, with the seconds of the last try."""
    ran: dict[str, dict[str, float]] = {}
    for event in _events(path):
        stages = ran.setdefault(event["run"], {})
        if event["outcome"] == "ran":
            stages[event["stage"]] = event["seconds"]
        elif event["outcome"] == "restored":  # another run has computed what the stage has now
            stages.pop(event["stage"], None)
    return ran


def _states(study: Study, path: Path) -> Mapping[str, _RunState]:
    """The states of the runs by name; empty before the study's first start."""
    remedy = _remedy(study)
    states = read_result(path, remedy) if path.exists() else {}
    return {name: parsed(_RunState, state, f"{path}: {name} is no run", remedy) for name, state in states.items()}


def _remedy(study: Study) -> str:
    """What to do about a file of the study that cannot be read."""
    return f"remove it and run `waymark study {study.argument}`, which makes it again"


def _read_run(study: Study, run: Run, folder: Path, state: _RunState, ran: dict[str, float]) -> Measured:
    if state.recipe != run.recipe_digest:  # what the run has is of another recipe
        state, ran = _RunState(), {}
    is_whole = all(path.exists() for path in _needed(study, folder))
    result = RunResult(
        name=run.name,
        arm=run.arm,
        seed=run.seed,
        state="unfinished" if state.state == "finished" and not is_whole else state.state,
        stage=state.stage,
        log=state.log,
        error=state.error,
        ran={stage: _seconds(folder, stage, seconds) for stage, seconds in ran.items()},
    )
    if result.state != "finished":
        return Measured(run=result)
    remedy = _remedy(study)
    episodes = _episodes(_evaluation(folder, study.file.compare), remedy)
    tested, heldout = _scores(episodes)
    family_of = {episode.task_id: episode.family for episode in episodes}
    figures = {
        "commit": state.commit,
        "success": _rate(tested.values()),
        "heldout": _rate(heldout.values()),
        "families": _families(headline(episodes)),
        **_actions(headline(episodes), folder / "data/teacher", remedy),
    }
    if study.before is None:
        return Measured(run=result.model_copy(update=figures), tested=tested, heldout=heldout, family_of=family_of)
    episodes_before = _episodes(_evaluation(folder, study.before), remedy)
    before, heldout_before = _scores(episodes_before)
    figures |= {
        "before": _rate(before.values()),
        "heldout_before": _rate(heldout_before.values()),
        "families_before": _families(headline(episodes_before)),
    }
    return Measured(
        run=result.model_copy(update=figures | _of_training(folder, remedy, ran)),
        tested=tested,
        heldout=heldout,
        before=before,
        heldout_before=heldout_before,
        family_of=family_of,
    )


def _seconds(folder: Path, stage: str, of_last_try: float) -> float:
    """The seconds of all tries of a stage, or those of the last try if its result does not say them."""
    path = folder / f"reports/stages/{stage}.json"
    try:
        seconds = read_json(path)["wall_s"] if path.exists() else None
    except (OSError, ValueError, KeyError, TypeError):
        seconds = None
    return float(seconds) if isinstance(seconds, int | float) else of_last_try


def _needed(study: Study, folder: Path) -> list[Path]:
    """The files without which a run has no result."""
    policies = [study.file.compare] if study.before is None else [study.file.compare, study.before]
    phases = () if study.before is None else PHASES
    tables = [table for policy in policies for table in _tables(_evaluation(folder, policy))]
    return tables + [_stage_result(folder, phase) for phase in phases]


def _evaluation(folder: Path, policy: str) -> Path:
    return folder / "data/evaluation" / policy


def _tables(folder: Path) -> tuple[Path, Path]:
    return folder / "trajectories.parquet", folder / "verdicts.parquet"


def _stage_result(folder: Path, phase: str) -> Path:
    return folder / "reports/stages" / f"train_rl@{phase}.json"


def _episodes(folder: Path, remedy: str) -> list[Episode]:
    """The episodes of a folder with both tables.

    Args:
        remedy: what to do about a table that cannot be read.

    Raises:
        EvaluationError: a table cannot be read, or a trajectory has no verdict.
    """
    trajectories, verdicts = _tables(folder)
    try:
        return join_verdicts(iter_named_table(trajectories, Trajectory), iter_named_table(verdicts, Verdict))
    except UnreadableTable as error:
        raise EvaluationError(f"{error}; {remedy}") from error


def _scores(episodes: Sequence[Episode]) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Success by task: of the test tasks, and of the held-out ones beside them."""
    tested = scores(headline(episodes))
    return tested, {task: score for task, score in scores(episodes).items() if task not in tested}


def _families(episodes: Iterable[Episode]) -> dict[str, float]:
    """The success on the tasks of each family."""
    by_family: dict[str, list[bool]] = {}
    for episode in episodes:
        if episode.success is not None:
            by_family.setdefault(episode.family, []).append(episode.success)
    return {family: sum(members) / len(members) for family, members in sorted(by_family.items())}


def _of_training(folder: Path, remedy: str, ran: Mapping[str, float]) -> dict[str, Any]:
    """Validation success and the mean reward of the pool over the iterations of both phases, their episodes and, if
    both are in `ran`, their seconds: those of all tries, where a phase was killed and went on."""
    episodes: list[float | None] = []
    validation: dict[float, float] = {}
    training: list[tuple[float, float]] = []
    seconds: list[float | None] = []
    before = 0
    for phase in PHASES:
        path = _stage_result(folder, phase)
        read = parsed(_Phase, read_result(path, remedy), f"{path} is no result of the stage", remedy)
        validation |= {float(before + row.iteration): row.success.rate for row in read.validation}
        rewards = enumerate((row.pool_reward for row in read.iterations), start=before + 1)
        training += [(float(at), reward) for at, reward in rewards if reward is not None]
        episodes += [row.episodes for row in read.iterations]
        seconds.append(read.wall_s if f"train_rl@{phase}" in ran else None)
        before += len(read.iterations)
    counted = [number for number in episodes if number is not None]
    known = [number for number in seconds if number is not None]
    return {
        "validation": Curve(points=sorted(validation.items())),
        "training": Curve(points=training),
        "rl_seconds": sum(known) if len(known) == len(PHASES) else None,
        "episodes": sum(counted) if counted and len(counted) == len(episodes) else None,
    }


def _rate(values: Iterable[float | None]) -> SuccessRate | None:
    judged = [value for value in values if value is not None]
    return success_rate(np.array(judged)) if judged else None


def _actions(episodes: Iterable[Episode], teacher: Path, remedy: str) -> dict[str, float | None]:
    """The actions of a success, and their ratio to those of the teacher, whose tables are in a folder."""
    own = summarise_actions(episodes)
    if own is None:
        return {"actions": None, "actions_of_teacher": None}
    is_there = all(table.exists() for table in _tables(teacher))
    demonstrated = summarise_actions(_episodes(teacher, remedy)) if is_there else None
    return {"actions": own.mean, "actions_of_teacher": own.ratio(demonstrated) if demonstrated is not None else None}


def _events(path: Path) -> Iterator[dict]:
    """The events of a study. A line that a kill cut off is left out."""
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue
