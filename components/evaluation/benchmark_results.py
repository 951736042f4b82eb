"""What a benchmark run leaves: `reports/benchmarks/<benchmark>@<model key>.json` for machines, a page for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from components.evaluation.analysis import analyse
from components.evaluation.charts import line_chart
from components.evaluation.html import templates, write_html
from components.evaluation.metrics import SuccessSummary
from components.evaluation.step_budgets import BudgetPoint
from components.records import Record
from components.rollout import Spent
from components.store import write_json

FOLDER = Path("reports/benchmarks")
TABLES = Path("data/benchmarked")
"""A folder per result, of its name: the trajectories and the official judge's verdicts."""


class Progress(Record):
    """How much of a benchmark was measured. `done` and `asked` are tasks; a task is done after all its repeats."""

    tasks: int
    """In the set, rows that are no tasks left out."""
    rejected: int
    asked: int
    done: int
    """With a verdict on all that needs one."""
    skipped: dict[str, list[str]]
    """Ids of tasks that were not asked, by reason: `robots`, `not_allowed`. They are no failures."""
    retried: int
    """Episodes that the environment ended and that were run again."""
    stopped_by: str | None
    """The limit at which episodes or judges stopped, such as `minutes 5 (5.2 spent)`."""


class BenchmarkResult(Record):
    """One model on one benchmark.

    `status`: `complete`, every row of the published set; `partial`, some of them, or not by all judges, with `problem`
    saying why, rows that are no tasks among the reasons; `invalid`, the environment ended more than
    `evaluation.max_aborted` of the episodes: there is no `summary` then, since a rate would be the environment's.
    """

    benchmark: str
    version: str
    title: str
    licence: str
    status: Literal["complete", "partial", "invalid"]
    problem: str | None
    model: str
    model_key: str
    judge: str
    summary: SuccessSummary | None
    also: dict[str, SuccessSummary]
    """By the other judges that were asked."""
    curve: list[BudgetPoint]
    progress: Progress
    spent: Spent
    judge_usd: float
    settings: dict[str, Any]
    measured_at: str

    @property
    def name(self) -> str:
        """The file's name: a decoding that is not the official one is said in it."""
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
            "said done": [point.finished for point in result.curve],
        },
        "shares of tasks and of episodes; one rollout, cut at each budget",
    )
    analysis = analyse({result.judge: result.summary}) if result.summary is not None else None
    template = templates().get_template("benchmark.html.jinja")
    html = template.render(title=result.title, result=result, curve=curve, analysis=analysis)
    write_html(path.with_suffix(".html"), html)
    return path
