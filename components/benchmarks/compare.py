"""Two models on one benchmark, task by task: what `waymark compare` prints.

Compared are the tasks that both attempted, under the benchmark's own step budget and by its official judge, from the
results that `waymark evaluate` wrote. Two results of partial runs may share few tasks: `unpaired` counts the tasks that
only one of them attempted, `ended` those that both attempted and of which the environment ended every episode of one,
and `unjudged` the others that both attempted and that lack a verdict of one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from components.benchmarks.results import FOLDER, TABLES, BenchmarkResult
from components.benchmarks.step_budgets import within
from components.evaluation.comparison import PairedDifference, paired_difference
from components.evaluation.episodes import Episode, join_verdicts, of_the_agent, scores
from components.evaluation.errors import EvaluationError
from components.records import Record, Trajectory, Verdict
from components.statistics import SuccessRate, success_rate
from components.store import UnreadableTable, iter_named_table


class ModelRate(SuccessRate):
    """One model's success on the compared tasks."""

    model: str


class Comparison(Record):
    """The first model against the second. `won`, `lost` and `same` count tasks and add up to `paired.n`."""

    benchmark: str
    version: str
    judge: str
    first: ModelRate
    second: ModelRate
    paired: PairedDifference
    won: int
    lost: int
    same: int
    unpaired: int
    ended: int = 0
    unjudged: int


def compare(
    first: str, second: str, bootstrap: int, seed: int, results: Path = FOLDER, tables: Path = TABLES
) -> Comparison:
    """Compare two results by their names, such as `webvoyager-595@0123456789ab`.

    Args:
        bootstrap: resamples.
        results, tables: where `waymark evaluate` put the results, and the trajectories and verdicts of each.

    Raises:
        EvaluationError: one is missing, invalid or unreadable, they are not of one version of one benchmark, judged and
            budgeted alike, or they have no judged task in common.
    """
    result_a, result_b = (_read_result(name, results, tables) for name in (first, second))
    for field, a, b in zip(
        ("benchmark", "version", "judge", "max_steps"), _conditions(result_a), _conditions(result_b), strict=True
    ):
        if a != b:
            raise EvaluationError(
                f"{first} and {second} cannot be compared, {field} is {a} and {b}: evaluate both models on one version "
                "of a benchmark, by the same benchmark recipe"
            )
    versions_a, versions_b = map(_judge_versions, (result_a, result_b))
    if not (versions_a <= versions_b or versions_b <= versions_a):
        a, b = (", ".join(sorted(versions)) for versions in (versions_a, versions_b))
        raise EvaluationError(
            f"{first} and {second} cannot be compared, version of the judge is {a} and {b}: evaluate both models with "
            "one judge"
        )
    episodes_a, episodes_b = _episodes(result_a, tables / first), _episodes(result_b, tables / second)
    scores_a, scores_b = scores(of_the_agent(episodes_a)), scores(of_the_agent(episodes_b))
    common = scores_a.keys() & scores_b.keys()
    if not common:
        raise EvaluationError(
            f"{first} and {second} have no task in common: raise the budget or --limit of one, and run it again"
        )
    a, b = ({task: values[task] for task in common} for values in (scores_a, scores_b))
    difference = paired_difference(a, b, bootstrap, seed)
    judged = sorted(task for task in common if a[task] is not None and b[task] is not None)
    ended = (_ended(episodes_a) | _ended(episodes_b)) & common
    a_N, b_N = (np.array([values[task] for task in judged], dtype=float) for values in (a, b))
    return Comparison(
        benchmark=result_a.benchmark,
        version=result_a.version,
        judge=result_a.judge,
        first=_rate(result_a, a_N, _count(episodes_a, judged)),
        second=_rate(result_b, b_N, _count(episodes_b, judged)),
        paired=difference,
        won=int((a_N > b_N).sum()),
        lost=int((a_N < b_N).sum()),
        same=int((a_N == b_N).sum()),
        unpaired=len(scores_a.keys() ^ scores_b.keys()),
        ended=len(ended),
        unjudged=len(common) - len(judged) - len(ended),
    )


def _conditions(result: BenchmarkResult) -> tuple[str, str, str, int]:
    """What two results must share to be compared."""
    return result.benchmark, result.version, result.judge, result.settings["max_steps"]


def _judge_versions(result: BenchmarkResult) -> frozenset[str]:
    """The versions of the judges that decided. Some depend on the task, so that a run of fewer tasks may have fewer.
    Results of earlier versions do not say them."""
    return frozenset(result.settings.get("judge_versions", ["unknown"]))


def _read_result(name: str, results: Path, tables: Path) -> BenchmarkResult:
    path, table = results / f"{name}.json", tables / name / "trajectories.parquet"
    if not path.exists() or not table.exists():
        names = sorted(file.stem for file in results.glob("*.json"))
        whole = [name for name in names if (tables / name / "trajectories.parquet").exists()]
        known = ", ".join(whole) or "none yet: `waymark evaluate` writes one"
        raise EvaluationError(f"there is no result {name!r} ({path} and {table}); there are {known}")
    try:
        result = BenchmarkResult.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EvaluationError(f"{path} is no result of a benchmark run; run the evaluation again") from error
    if not isinstance(result.settings.get("max_steps"), int):
        raise EvaluationError(f"{path} does not say its step budget, settings.max_steps; run the evaluation again")
    if result.status == "invalid":
        raise EvaluationError(f"{name} is invalid and has no rate to compare: {result.problem}")
    return result


def _rate(result: BenchmarkResult, scores_N: np.ndarray, episodes: int) -> ModelRate:
    return ModelRate(model=result.model, **success_rate(scores_N, episodes).model_dump())


def _count(episodes: list[Episode], tasks: list[str]) -> int:
    """The number of judged episodes of these tasks which the environment did not end."""
    counted = {*tasks}
    return sum(episode.success is not None and episode.task_id in counted for episode in of_the_agent(episodes))


def _ended(episodes: list[Episode]) -> frozenset[str]:
    """The tasks of which the environment ended every episode."""
    tried = {episode.task_id for episode in episodes}
    return frozenset(tried - {episode.task_id for episode in episodes if episode.termination.is_agents_doing})


def _episodes(result: BenchmarkResult, folder: Path) -> list[Episode]:
    """The episodes, cut at the benchmark's step budget, with their verdicts.

    Raises:
        EvaluationError: a table of the folder is missing or damaged.
    """
    steps = result.settings["max_steps"]
    cut = (within(trajectory, steps) for trajectory in iter_named_table(folder / "trajectories.parquet", Trajectory))
    try:
        return join_verdicts(cut, iter_named_table(folder / "verdicts.parquet", Verdict))
    except UnreadableTable as error:
        raise EvaluationError(f"{error}; run the evaluation again") from error
