"""The result of a benchmark run: `reports/benchmarks/<benchmark>@<model key>.json` and an HTML page beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from components.benchmarks.step_budgets import BudgetPoint
from components.evaluation.metrics import SuccessSummary
from components.records import Record
from components.reports.analysis import analyse
from components.reports.charts import line_chart
from components.reports.html_pages import templates, write_html
from components.rollout import RunCost
from components.store import write_json

FOLDER = Path("reports/benchmarks")
TABLES = Path("data/benchmarked")
"""A folder per result, with the same name, for the trajectories and the official judge's verdicts."""

Status = Literal["complete", "partial", "invalid"]


class Progress(Record):
    """How much of a benchmark was measured. `done` and `asked` count tasks; a task is done after all its repeats."""

    tasks: int
    """Tasks of the set, without rows that are no tasks."""
    rejected: int
    asked: int
    """Tasks that the run attempts."""
    done: int
    """Tasks whose episodes all ended and, where they need one, have a verdict."""
    skipped: dict[str, list[str]]
    """Ids of tasks that are not attempted, by reason: `robots`, `not_allowed`. They do not count as failures."""
    retried: int
    """Episodes that ran again because the environment had ended them."""
    stopped_by: str | None
    """The limit at which episodes or judges stopped, such as `minutes 5 (5.2 spent)`."""


class BenchmarkResult(Record):
    """One model on one benchmark.

    `status` is `complete` if every row of the published set was measured; `partial` if some were, or not by all judges
    (`problem` has the reasons, such as rows that are no tasks); `invalid` if the environment ended more than
    `evaluation.max_aborted` of the episodes, or the official judge decided none. Then there is no `summary`, because a
    rate would measure the environment or the judge.
    """

    benchmark: str
    version: str
    title: str
    licence: str
    status: Status
    problem: str | None
    model: str
    model_key: str
    judge: str
    summary: SuccessSummary | None
    also: dict[str, SuccessSummary]
    """Summaries by the benchmark's other judges."""
    curve: list[BudgetPoint]
    progress: Progress
    spent: RunCost
    judge_usd: float
    settings: dict[str, Any]
    measured_at: str

    @property
    def name(self) -> str:
        """The file's name without suffix; it contains the decoding unless that is the official one."""
        decoding = self.settings["decoding"]
        return f"{self.benchmark}@{self.model_key}" + ("" if decoding == "official" else f".{decoding}")


def write_result(result: BenchmarkResult, folder: Path = FOLDER) -> Path:
    """Write the JSON and the page; returns the JSON's path."""
    path = folder / f"{result.name}.json"
    write_json(path, result.model_dump(mode="json"))
    curve = line_chart(
        "Success by step budget",
        [point.steps for point in result.curve],
        {
            "success": [point.rate for point in result.curve],
            "called done": [point.finished for point in result.curve],
        },
        "shares of tasks and of episodes; one rollout, cut at each budget",
    )
    analysis = analyse({result.judge: result.summary}) if result.summary is not None else None
    template = templates().get_template("benchmark.html.jinja")
    html = template.render(title=result.title, result=result, curve=curve, analysis=analysis)
    write_html(path.with_suffix(".html"), html)
    return path
