"""Rows of the leaderboard: this project's runs beside the published rows of the four papers, each with its mark.

Measured rows come from the evaluations of the pipeline (`evaluate@base`, `sft` and `rl`) and the benchmark runs under
`reports/benchmarks`, published rows from `published.py`. A set's name, version and checksum stand beside each measured
row, because sets of the same name differ. So do judges, decodings and step budgets, and each row names them.
`leaderboard_page` sorts and writes the rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from components.evaluation.metrics import SUMMARY_KEYS, SuccessSummary
from components.params import OPENWEBRL_KEYS
from components.records import Record
from components.reports import published
from components.reports.stage_output import StageOutput, parsed, read_result, rerun
from components.reports.stage_results import POLICIES
from components.statistics import Interval

SHOWN_SETTINGS = ("recipe", "protocol", "decoding", "max_steps", "repeats", "limit", "occasion")
"""Settings of a measured run that its row shows; a published row shows all its settings."""
REMEDY = "run the evaluation again, or remove the file"
NAMES = {"base": "base", "sft": "SFT", "rl": "RL"}


class Entry(Record):
    """A row. `rate` is None for an invalid run, and for one that `measured_nothing` before its budget was spent; `note`
    has the reason, or other remarks."""

    mark: Literal["measured", "published"]
    benchmark: str
    model: str
    rate: float | None
    measured_nothing: bool = False
    ci95: Interval | None = None
    n: int | None = None
    without_aborted: float | None = None
    task_set: str
    settings: str
    source: str
    note: str = ""


class StageFile(StageOutput):
    """The keys beside the summary in the result of `evaluate`; results of an earlier version lack them."""

    recipe: str = "an earlier recipe"
    tasks: str = "test tasks"


class BenchmarkFile(StageOutput):
    """The result of a benchmark run; keys that it lacks, such as the summary of an invalid run, have defaults."""

    benchmark: str
    version: str
    model: str
    summary: SuccessSummary | None = None
    status: str = "complete"
    problem: str | None = None
    judge: str | None = None
    also: dict[str, SuccessSummary] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    measured_at: str = ""


def published_entries(ablations: bool = True) -> list[Entry]:
    """The papers' rates on whole benchmarks, without rates on parts of one and means of several."""
    return [
        Entry(
            mark="published",
            benchmark=column,
            model=row.model,
            rate=row.share(column),
            task_set=published.sets().get(column, ""),
            settings=_settings_text(row.settings),
            source=row.source,
            note="ablation" if row.ablation else "",
        )
        for row in published.rows()
        if row.metric == "success" and (ablations or not row.ablation)
        for column, value in row.values.items()
        if value is not None and "/" not in column and column != published.AVERAGE
    ]


def stage_entries(stages: Path) -> list[Entry]:
    """The pipeline's own evaluations, `evaluate@*.json` of a folder.

    Raises:
        EvaluationError: a file is no result of the stage.
    """
    entries = []
    for policy in POLICIES:
        path = stages / f"evaluate@{policy}.json"
        if path.exists():
            raw, message = read_result(path, rerun(path.stem)), f"{path} is no result of an evaluation"
            stage = parsed(StageFile, raw, message, rerun(path.stem))
            figures = {name: raw[name] for name in SUMMARY_KEYS if name in raw}
            summary = parsed(SuccessSummary, figures, message, rerun(path.stem))
            entries += run_entries(stage.recipe, stage.tasks, policy, summary)
    return entries


def run_entries(recipe: str, tasks: str, policy: str, overall: SuccessSummary) -> list[Entry]:
    """The rows of one evaluation of the pipeline; families that are never trained on have a row of their own.

    Args:
        tasks: the name of the tasks, such as that of their world.
    """
    entries = []
    unmeasured = "; ".join(overall.heldout_problems)
    for name, summary in ((tasks, overall), (f"{tasks}, new families", overall.heldout)):
        if summary is not None or unmeasured:
            problem = _why_invalid(overall) if summary is not None else unmeasured
            entry = _measured(f"{name} ({recipe})", f"{recipe} {NAMES[policy]}", summary, overall.valid, problem)
            checksum = summary.task_set if summary is not None else None
            origin = {
                "task_set": f"{name} of {recipe}" + (f", tasks {checksum}" if checksum else ""),
                "source": f"evaluate@{policy}",
            }
            entries.append(entry.model_copy(update=origin))
    return entries


def benchmark_entries(folder: Path) -> list[Entry]:
    """The rows of the benchmark runs in a folder; a run with several judges has a row for each.

    Raises:
        EvaluationError: a file is no result of a benchmark run.
    """
    return [entry for path in sorted(folder.glob("*.json")) for entry in _file_entries(path)]


def _file_entries(path: Path) -> list[Entry]:
    result = parsed(BenchmarkFile, read_result(path, REMEDY), f"{path} is no result of a benchmark run", REMEDY)
    entries = []
    for judge, summary in [(result.judge, result.summary), *result.also.items()]:
        entry = _measured(
            benchmark_of(result.benchmark), result.model, summary, result.status != "invalid", result.problem
        )
        settings = {name: value for name in SHOWN_SETTINGS if (value := result.settings.get(name)) not in (None, "")}
        context = result.settings.get("context", {})
        settings |= {key: value for key, value in context.items() if value is not OPENWEBRL_KEYS.get(key)}
        judged = {"judge": judge} if judge else {}
        partial = result.problem if result.status == "partial" and result.problem != entry.note else None
        notes = [note for note in (entry.note, partial) if note]
        origin = {
            "measured_nothing": summary is None and result.status == "partial",
            "task_set": f"{result.benchmark} {result.version}",
            "settings": _settings_text(judged | settings),
            "source": result.measured_at[:10] or path.name,
            "note": "; ".join(notes),
        }
        entries.append(entry.model_copy(update=origin))
    return entries


def benchmark_of(name: str) -> str:
    """The published benchmark of a measured set: `webarena-lite` for `WebArena_Lite`.

    A longer name, such as `online-mind2web-later`, is another revision with its own judge, and its own group.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    known = {column for row in published.rows() for column in row.values if row.metric == "success"}
    return slug if slug in known else name


def _measured(
    benchmark: str, model: str, summary: SuccessSummary | None, valid: bool, problem: str | None = None
) -> Entry:
    """A row without its origin; an invalid run has no rate, and its note has the reason."""
    entry = Entry(mark="measured", benchmark=benchmark, model=model, rate=None, task_set="", settings="", source="")
    if summary is not None and summary.valid and valid:
        figures = {"rate": summary.rate, "ci95": summary.ci95, "n": summary.n}
        return entry.model_copy(update=figures | {"without_aborted": summary.rate_without_aborted})
    if summary is not None and not summary.valid:
        problem = _why_invalid(summary)
    return entry.model_copy(update={"note": problem or ""})


def _why_invalid(summary: SuccessSummary) -> str:
    """The problems of an evaluation; if its file is of an earlier version and does not say, what was lost in all."""
    if summary.problems:
        return "; ".join(summary.problems)
    parts = [part for part in (summary, summary.heldout) if part is not None]
    unjudged = sum(part.unjudged for part in parts) + summary.heldout_unjudged
    return f"{sum(part.aborted for part in parts)} episodes ended by the environment, {unjudged} not judged"


def _settings_text(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings.items())
