"""The result of a benchmark run: `reports/benchmarks/<benchmark>@<model key>.json` and an HTML page beside it.

A run with other attempts or fewer tasks has a name of its own: that of its decoding, its occasion and its limit.
"""

from __future__ import annotations

import hashlib
import re
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
STATUSES: tuple[Status, ...] = ("complete", "partial", "invalid")
"""The best first."""


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
        """The file's name without suffix. It contains the decoding unless that is the official one, the occasion if
        there is one, and the limit if it leaves out tasks. Settings of earlier versions have no occasion."""
        decoding, occasion, limit = (self.settings.get(key) for key in ("decoding", "occasion", "limit"))
        parts = [f"{self.benchmark}@{self.model_key}"]
        parts += [str(decoding)] if decoding not in (None, "official") else []
        parts += [f"occasion-{_file_name(str(occasion))}"] if occasion else []
        parts += [f"limit-{limit}"] if limit is not None and limit < self.progress.tasks else []
        return ".".join(parts)


def free_name(result: BenchmarkResult, folder: Path = FOLDER) -> str:
    """The name under which a result is stored: its own, with its status if it would replace a better result."""
    stored = _stored(folder / f"{result.name}.json")
    return f"{result.name}.{result.status}" if stored is not None and _is_better(stored, result) else result.name


def _is_better(stored: BenchmarkResult, result: BenchmarkResult) -> bool:
    """A complete result is better than a partial one, and that better than an invalid one. Of two partial ones on the
    same revision of the set, the one with more tasks is better."""
    if stored.status != result.status:
        return STATUSES.index(stored.status) < STATUSES.index(result.status)
    is_same_set = stored.version == result.version
    return result.status == "partial" and is_same_set and stored.progress.done > result.progress.done


def _stored(path: Path) -> BenchmarkResult | None:
    """A stored result; None if there is none that can be read."""
    try:
        return BenchmarkResult.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _file_name(text: str) -> str:
    """A text as a part of a file's name; with a checksum if other texts would give the same."""
    name = re.sub(r"[^A-Za-z0-9-]+", "-", text)
    return name if name == text else f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def write_result(result: BenchmarkResult, folder: Path = FOLDER) -> Path:
    """Write the JSON and the page under a `free_name`; returns the JSON's path."""
    path = folder / f"{free_name(result, folder)}.json"
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
