"""Two models on one benchmark, task by task: what `waymark compare` prints.

Compared are the tasks that both tried, under the benchmark's own step budget and by its official judge, as the results
that `waymark evaluate` wrote have them. Two results of partial runs may share few tasks: `apart` says how many tasks
only one of them tried.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydantic import ValidationError

from components.evaluation.benchmark_results import FOLDER, TABLES, BenchmarkResult
from components.evaluation.comparison import Paired, paired
from components.evaluation.episodes import episodes, scores
from components.evaluation.errors import EvaluationError
from components.evaluation.intervals import Interval, bootstrap_mean
from components.evaluation.step_budgets import within
from components.records import Record, Trajectory, Verdict
from components.store import iter_table, read_table


class Side(Record):
    """One model's success on the tasks that are compared."""

    model: str
    rate: float
    ci95: Interval


class HeadToHead(Record):
    """The first model against the second. `won`, `lost` and `same` are tasks, and add up to `paired.n`."""

    benchmark: str
    version: str
    judge: str
    first: Side
    second: Side
    paired: Paired
    won: int
    lost: int
    same: int
    apart: int


def head_to_head(
    first: str, second: str, bootstrap: int, seed: int, results: Path = FOLDER, tables: Path = TABLES
) -> HeadToHead:
    """Compare two results by their names, such as `webvoyager-595@0123456789ab`.

    Args:
        bootstrap: resamples.
        results, tables: where `waymark evaluate` put the results, and the trajectories and verdicts of each.

    Raises:
        EvaluationError: one is missing, invalid or unreadable, they are not of one version of one benchmark, judged and
            budgeted alike, or they have no judged task in common.
    """
    sides = [_result(name, results, tables) for name in (first, second)]
    one, other = sides
    for what, a, b in zip(("benchmark", "version", "judge", "max_steps"), _measure(one), _measure(other), strict=True):
        if a != b:
            raise EvaluationError(
                f"{first} and {second} cannot be compared, {what} is {a} and {b}: measure both models on one version "
                "of a benchmark, by the same recipe of it"
            )
    of_first, of_second = (_scores(result, tables / result.name) for result in sides)
    common = of_first.keys() & of_second.keys()
    if not common:
        raise EvaluationError(f"{first} and {second} tried no task both: raise the budget or --limit of one, and go on")
    a, b = ({task: values[task] for task in common} for values in (of_first, of_second))
    difference = paired(a, b, bootstrap, seed)
    judged = sorted(task for task in common if a[task] is not None and b[task] is not None)
    a_N, b_N = (np.array([values[task] for task in judged], dtype=float) for values in (a, b))
    return HeadToHead(
        benchmark=one.benchmark,
        version=one.version,
        judge=one.judge,
        first=Side(model=one.model, rate=float(a_N.mean()), ci95=bootstrap_mean(a_N, bootstrap, seed)),
        second=Side(model=other.model, rate=float(b_N.mean()), ci95=bootstrap_mean(b_N, bootstrap, seed)),
        paired=difference,
        won=int((a_N > b_N).sum()),
        lost=int((a_N < b_N).sum()),
        same=int((a_N == b_N).sum()),
        apart=len(of_first.keys() ^ of_second.keys()),
    )


def _measure(result: BenchmarkResult) -> tuple[str, str, str, int]:
    return result.benchmark, result.version, result.judge, result.settings["max_steps"]


def _result(name: str, results: Path, tables: Path) -> BenchmarkResult:
    path, table = results / f"{name}.json", tables / name / "trajectories.parquet"
    if not path.exists() or not table.exists():
        known = (
            ", ".join(sorted(one.stem for one in results.glob("*.json"))) or "none yet: `waymark evaluate` makes one"
        )
        raise EvaluationError(f"there is no result {name!r} ({path} and {table}); there are {known}")
    try:
        result = BenchmarkResult.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise EvaluationError(f"{path} is no result of a benchmark run; measure it again") from error
    if result.status == "invalid":
        raise EvaluationError(f"{name} is invalid and has no rate to compare: {result.problem}")
    return result


def _scores(result: BenchmarkResult, folder: Path) -> dict[str, float | None]:
    steps = result.settings["max_steps"]
    cut = (within(trajectory, steps) for trajectory in iter_table(folder / "trajectories.parquet", Trajectory))
    return scores(episodes(cut, read_table(folder / "verdicts.parquet", Verdict)))
