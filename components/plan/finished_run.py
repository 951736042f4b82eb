"""What a finished run recorded about its times: the results of its stages, and the timings in its trajectories."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from pydantic import ValidationError

from components.judge import needs_judge
from components.params import Params, RecipeError
from components.params.placement import STAGES
from components.plan.fit import recipe_with
from components.records import Trajectory
from components.store import iter_table, read_json

TABLES = {
    "teacher_rollouts": "data/teacher/trajectories.parquet",
    "judge_rollouts": "data/judge/trajectories.parquet",
    "evaluate@base": "data/evaluation/base/trajectories.parquet",
    "evaluate@sft": "data/evaluation/sft/trajectories.parquet",
    "evaluate@rl": "data/evaluation/rl/trajectories.parquet",
}
VERDICTS = "data/teacher/verdicts.parquet"
Figures = dict[str, Any]


@dataclass(frozen=True)
class Played:
    """The episodes of a stage, as means. Seconds are of wall time.

    Attributes:
        response_tokens: of a turn; 0 if the policy was a script.
        step_s: of a browser step.
        open_s: of opening the start page.
        policy_s: of a response.
        wall_s: of an episode.
        first_prompt: tokens of the first turn's prompt; 0 if the policy was a script.
    """

    episodes: int
    turns: float
    response_tokens: float
    judged: float
    step_s: float
    open_s: float
    policy_s: float
    wall_s: float
    first_prompt: float


@dataclass(frozen=True)
class FinishedRun:
    """The recipe of a run, the result of each stage that finished, and the episodes of its tables."""

    params: Params
    results: dict[str, Figures]
    played: dict[str, Played]
    judge_s: float | None
    """Seconds of a verdict of the endpoint that labelled, all its questions together; None if the rules did."""

    def wall_s(self, stage: str) -> float | None:
        """Wall time of a stage, without the evaluation of the champion, which the plan does not have; None if the stage
        did not finish."""
        result = self.results.get(stage, {})
        if "wall_s" not in result:
            return None
        return float(result["wall_s"]) - float(result.get("champion", {}).get("wall_s", 0.0))

    @property
    def side_by_side(self) -> int | None:
        """The largest number of stages that ran at the same time; None if fewer than two ran in one go."""
        spans = self._spans()
        begun = [sum(begin <= start < end for begin, end in spans) for start, _ in spans]
        return max(begun) if len(spans) > 1 else None

    @property
    def between_s(self) -> float:
        """Median seconds from the end of a stage to the beginning of the next one, in which DVC and the pipeline work;
        0 if fewer than two stages ran in one go."""
        spans = self._spans()
        ends = [[end for _, end in spans if end <= begin] for begin, _ in spans]
        pauses = [begin - max(earlier) for (begin, _), earlier in zip(spans, ends, strict=True) if earlier]
        return statistics.median(pauses) if pauses else 0.0

    def _spans(self) -> list[tuple[float, float]]:
        """Begin and end of the stages of one run of the pipeline that nothing interrupted; the run with most stages, if
        the results are of several."""
        runs: dict[str, list[tuple[float, float]]] = {}
        for result in self.results.values():
            if len(result.get("spans", [])) == 1:
                begin, end = result["spans"][0]
                runs.setdefault(result.get("pipeline") or "", []).append((float(begin), float(end)))
        return max(runs.values(), key=len, default=[])

    def iterations(self, phase: str) -> list[Figures]:
        """The figures of a phase's iterations."""
        return list(self.results.get(f"train_rl@{phase}", {}).get("iterations", []))

    def total(self, stage: str, table: str, figure: str) -> float:
        """The sum of a figure over the rows of a table in a stage's result."""
        return sum(float(row[figure]) for row in self.results.get(stage, {}).get(table, []) if row.get(figure))


def read_run(folder: Path) -> FinishedRun:
    """Read a checkout in which stages have finished.

    Raises:
        RecipeError: the folder has no `params.yaml`, or no result of a stage with its wall time, or another version
            wrote its trajectories.
    """
    recipe, stages = folder / "params.yaml", folder / "reports/stages"
    results = {name: _result(stages / f"{name}.json") for name in STAGES if (stages / f"{name}.json").exists()}
    if not recipe.exists() or not any("wall_s" in result for result in results.values()):
        raise RecipeError(
            f"{folder} has no finished stage: --calibrate takes a checkout with params.yaml and reports/stages/*.json, "
            "in which `dvc repro` has run"
        )
    played = {}
    for stage, path in TABLES.items():
        if stage in results and (folder / path).exists():
            played[stage] = _played(folder / path)
    known = {stage: means for stage, means in played.items() if means is not None}
    return FinishedRun(recipe_with(recipe, {}), results, known, _judge_s(folder / VERDICTS))


def _result(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except ValueError as error:
        raise RecipeError(
            f"{path} is not JSON ({error}): run `dvc repro --force --single-item {path.stem}` in that checkout"
        ) from error


def _played(path: Path) -> Played | None:
    """The means over a table, of which one row group at a time is in memory."""
    try:
        return _means(iter_table(path, Trajectory))
    except ValidationError as error:
        raise RecipeError(f"{path} was written by another version: calibrate with the code of that checkout") from error


def _means(trajectories: Iterable[Trajectory]) -> Played | None:
    steps: list[float] = []
    starts: list[float] = []
    policy: list[float] = []
    walls: list[float] = []
    firsts: list[int] = []
    tokens: list[int] = []
    judged: list[bool] = []
    for trajectory in trajectories:
        timings = [turn.timings for turn in trajectory.turns]
        steps += [sum(times.values()) - times.get("policy", 0.0) for times in timings if len(times) > 1]
        policy += [times.get("policy", 0.0) for times in timings]
        firsts += [turn.prompt_tokens for turn in trajectory.turns[:1]]
        if isinstance(start := trajectory.diagnostics.get("start"), dict):
            starts.append(sum(start.values()))
        if (wall := trajectory.diagnostics.get("wall_s")) is not None:
            walls.append(float(wall))
        tokens.append(trajectory.response_tokens)
        judged.append(needs_judge(trajectory))
    turns = len(policy)
    if not turns:
        return None
    return Played(
        episodes=len(tokens),
        turns=turns / len(tokens),
        response_tokens=sum(tokens) / turns,
        judged=_mean(judged),
        step_s=_mean(steps),
        open_s=_mean(starts),
        policy_s=_mean(policy),
        wall_s=_mean(walls),
        first_prompt=_mean(firsts),
    )


def _judge_s(path: Path) -> float | None:
    if not path.exists():
        return None
    rows = pq.read_table(path, columns=["tokens", "latency_s"]).to_pylist()
    seconds = [float(row["latency_s"]) for row in rows if row["tokens"] and row["latency_s"]]
    return _mean(seconds) if seconds else None


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0
