"""The result of `waymark judge run`: a line per record, and the success rate with what could not be judged and why."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum

import numpy as np

from components.endpoint import Spent
from components.formats import ReadTrajectory
from components.records import Outcome, ProcessReport, Record, Verdict
from components.statistics import Interval, SuccessRate, success_rate

EXAMPLES = 3
"""Records that the text of a summary names per reason."""


class Unjudged(StrEnum):
    """Why a record has no verdict."""

    DAMAGED = "damaged"
    """It cannot be read."""
    MISSING_SCREENSHOT = "missing_screenshot"
    """A screenshot that it names is not there or is damaged; `--allow-missing` judges by the others."""
    DUPLICATE = "duplicate"
    """The same trajectory was there before, or a later record of it has all screenshots and this one has not."""
    ENVIRONMENT = "environment"
    """The environment ended the episode, not the agent."""
    NO_RULE = "no_rule"
    """The rules cannot decide: the task has none, a page was not read, no model is named that could be asked, or the
    rule's evaluator is not installed."""
    UNPARSED = "unparsed"
    """The judge's answer cannot be read."""
    ENDPOINT = "endpoint"
    """The endpoint refused the request or did not answer; run again to ask again."""
    BUDGET = "budget"
    """A limit was reached before."""


class JudgedRecord(Record):
    """A record with its verdict, whose outcome is an error or unparsed where `unjudged` says why."""

    source: str
    """The file, with line or row."""
    task_id: str | None
    """None if the record is damaged."""
    verdict: Verdict
    unjudged: Unjudged | None
    missing_screenshots: list[str]

    @classmethod
    def of(cls, record: ReadTrajectory, verdict: Verdict, unjudged: Unjudged | None) -> JudgedRecord:
        """The line of a record that was read."""
        return cls(
            source=record.place,
            task_id=record.trajectory.task_id,
            verdict=verdict,
            unjudged=unjudged,
            missing_screenshots=[*record.missing],
        )

    def as_json(self) -> str:
        """One line of JSON, with the fields of the verdict beside the others."""
        fields = self.model_dump(mode="json", exclude={"verdict"})
        return json.dumps(fields | self.verdict.model_dump(mode="json"), ensure_ascii=False)


class ProcessSummary(Record):
    """What a judge that rules on the process found, over the records that have its report.

    `score` is the mean over `reports` records; the other figures are numbers of records.
    """

    reports: int
    score: float
    uncontrollable: int
    """Not all criteria are met, and only for reasons outside of the agent's control."""
    side_effects: int
    critical_points: int


class RunSummary(Record):
    """What a run found. Rates are over tasks; several attempts at a task have their mean.

    `bounds` is the same rate over all records, if all that could not be judged were failures, and if they were
    successes; a damaged record counts as a task of its own, and a duplicate not at all. `success` is None if nothing
    could be judged. `cost` is that of all tries together.
    """

    judge: str
    judge_version: str
    records: int
    judged: int
    successes: int
    success: SuccessRate | None
    bounds: Interval | None
    unjudged: dict[Unjudged, int]
    examples: dict[Unjudged, list[str]]
    judged_without_some_screenshots: int
    process: ProcessSummary | None
    cost: dict[str, float]


def summarise(lines: Sequence[JudgedRecord], judge: str, version: str, spent: Spent) -> RunSummary:
    """Count the lines of a run.

    Args:
        version: of the judge.
        spent: on endpoints, over all tries.
    """
    judged = [line for line in lines if line.unjudged is None]
    successes = sum(line.verdict.outcome is Outcome.SUCCESS for line in judged)
    by_task: defaultdict[str | None, list[bool]] = defaultdict(list)
    for line in judged:
        by_task[line.task_id].append(line.verdict.outcome is Outcome.SUCCESS)
    scores_N = np.array([np.mean(outcomes) for outcomes in by_task.values()])
    examples: dict[Unjudged, list[str]] = {}
    for line in lines:
        if line.unjudged is not None and len(examples.setdefault(line.unjudged, [])) < EXAMPLES:
            examples[line.unjudged].append(line.verdict.rationale)
    return RunSummary(
        judge=judge,
        judge_version=version,
        records=len(lines),
        judged=len(judged),
        successes=successes,
        success=success_rate(scores_N, len(judged)) if judged else None,
        bounds=_bounds(lines),
        unjudged=dict(Counter(line.unjudged for line in lines if line.unjudged is not None).most_common()),
        examples=examples,
        judged_without_some_screenshots=sum(bool(line.missing_screenshots) for line in judged),
        process=_process([line.verdict.process for line in judged if line.verdict.process is not None]),
        cost=asdict(spent),
    )


def _bounds(lines: Sequence[JudgedRecord]) -> Interval | None:
    """The success rate over tasks if every record without a verdict had failed, and if it had succeeded."""
    tasks: defaultdict[object, list[tuple[bool, bool]]] = defaultdict(list)
    for number, line in enumerate(lines):
        if line.unjudged is Unjudged.DUPLICATE:
            continue
        won = line.unjudged is None and line.verdict.outcome is Outcome.SUCCESS
        tasks[number if line.task_id is None else line.task_id].append((won, won or line.unjudged is not None))
    if not tasks:
        return None
    worst, best = np.array([np.mean(outcomes, axis=0) for outcomes in tasks.values()]).mean(axis=0)
    return Interval(float(worst), float(best))


def _process(reports: Sequence[ProcessReport]) -> ProcessSummary | None:
    if not reports:
        return None
    return ProcessSummary(
        reports=len(reports),
        score=sum(report.score for report in reports) / len(reports),
        uncontrollable=sum(report.failure == "uncontrollable" for report in reports),
        side_effects=sum(bool(report.side_effects) for report in reports),
        critical_points=sum(bool(report.critical_points) for report in reports),
    )


def as_text(summary: RunSummary) -> str:
    """The summary for the terminal."""
    lines = [f"{summary.judged} of {summary.records} records judged by {summary.judge}"]
    if summary.success is not None and summary.bounds is not None:
        low, high = summary.success.ci95
        lines.append(f"success: {summary.success.rate:.1%} ({low:.1%} to {high:.1%}) over {summary.success.n} tasks")
        if summary.judged < summary.records:
            worst, best = summary.bounds
            lines.append(f"over all records, if the others failed or succeeded: {worst:.1%} to {best:.1%}")
    for reason, count in summary.unjudged.items():
        lines.append(f"not judged, {reason.replace('_', ' ')}: {count}")
        lines += [f"  {example}" for example in summary.examples[reason]]
        lines += ["  …"] if count > len(summary.examples[reason]) else []
    if summary.judged_without_some_screenshots:
        lines.append(f"judged without some of their screenshots: {summary.judged_without_some_screenshots}")
    if (process := summary.process) is not None:
        lines.append(
            f"process: {process.score:.1%} of the criteria, over {process.reports} records; "
            f"failed beyond the agent's control: {process.uncontrollable}; with side effects: {process.side_effects}; "
            f"past a critical point: {process.critical_points}"
        )
    if summary.cost["requests"] or summary.cost["cached"]:
        lines.append(
            f"{summary.cost['requests']:.0f} requests, {summary.cost['cached']:.0f} answers from earlier ones, "
            f"{summary.cost['usd']:.4f} USD"
        )
    return "\n".join(lines)
