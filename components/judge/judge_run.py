"""Judges the trajectories of a file or folder, ours or others', without labels (`waymark judge run`).

Every record ends as one line of the result: with a verdict, or with the reason why there is none. Records that are
damaged, lack a screenshot or occur twice are counted, and no judge is asked about them.

Costly verdicts are kept in `journal.jsonl` by the content of the trajectory and the version of the judge, as soon as
they are given. A run that was killed goes on when it is started again, and asks about the rest; outages are asked
again, too. Waymark's own changes of a parser do not count as another version: remove the folder to judge anew.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from components.endpoint import ANSWERS
from components.formats import Damaged, ReadTrajectory
from components.journal import Journal
from components.judge.clients import JudgeClients
from components.judge.joined_tasks import JoinedTasks
from components.judge.judge_summary import JudgedRecord, RunSummary, Unjudged, summarise
from components.judge.judges import NamedJudge, judge_named
from components.judge.protocols import JudgeProtocol
from components.params import Params
from components.records import ErrorCause, Outcome, Record, Trajectory, Verdict, trajectory_id
from components.store import write_json, write_table

_CAUSES = {
    ErrorCause.ENVIRONMENT: Unjudged.ENVIRONMENT,
    ErrorCause.NO_RULE: Unjudged.NO_RULE,
    ErrorCause.ENDPOINT: Unjudged.ENDPOINT,
}
JOURNAL = "journal.jsonl"
RESULTS = TABLE, LINES, SUMMARY = "verdicts.parquet", "verdicts.jsonl", "summary.json"


class StoredVerdict(Record):
    """A verdict under the key of trajectory and judge."""

    key: str
    verdict: Verdict


@dataclass(frozen=True)
class RunOptions:
    """How records are judged.

    Attributes:
        judge: the name of a judge (`judges.judge_named`), or one of `further`.
        out: the folder of the result.
        allow_missing: judge by the screenshots that are there, where some are missing.
        on_progress: gets the number of verdicts so far.
        further: protocols beside those that are found by name.
    """

    judge: str
    out: Path
    allow_missing: bool = False
    on_progress: Callable[[int], None] = lambda count: None
    further: Mapping[str, JudgeProtocol] = field(default_factory=dict)


def judge_records(
    records: Iterable[ReadTrajectory | Damaged], options: RunOptions, params: Params, tasks: JoinedTasks | None = None
) -> RunSummary:
    """Judge the records and write `verdicts.parquet`, `verdicts.jsonl` and `summary.json` into `options.out`.

    Args:
        records: of a reader of `formats`, read once.
        tasks: of task files, to be joined; None leaves each task as it was recorded.

    Raises:
        UnavailableJudge: the recipe has not what the judge needs.
        JudgeOutage, EndpointError: see `ModelJudge`; verdicts so far are kept.
        BlockingIOError: another run writes into the folder.
    """
    return asyncio.run(_judge(records, options, params, tasks))


async def _judge(
    records: Iterable[ReadTrajectory | Damaged], options: RunOptions, params: Params, tasks: JoinedTasks | None
) -> RunSummary:
    async with JudgeClients(params.judge.model, options.out, ANSWERS) as clients:
        judge = judge_named(options.judge, params, clients, options.further)
        with Journal(options.out / JOURNAL, StoredVerdict) as journal:
            run = _Run(records, options, judge, journal, tasks)
            waiting = run.waiting()
            limit = await judge.judge(waiting, run.keep)
            run.stop(waiting, "" if limit is None else limit.limit)
        summary = summarise(run.lines(), options.judge, judge.version, clients.spent)
    _write(options.out, run.lines(), summary)
    return summary


class _Run:
    """The state of a run: what is judged, by the position of its record."""

    def __init__(
        self,
        records: Iterable[ReadTrajectory | Damaged],
        options: RunOptions,
        judge: NamedJudge,
        journal: Journal[StoredVerdict],
        tasks: JoinedTasks | None,
    ) -> None:
        self._records = records
        self._options = options
        self._judge = judge
        self._journal = journal
        self._tasks = tasks
        self._stored = {stored.key: stored.verdict for stored in journal.records}
        self._lines: dict[int, JudgedRecord] = {}
        self._open: dict[str, tuple[int, ReadTrajectory]] = {}
        self._places: dict[str, str] = {}
        self._incomplete: dict[str, tuple[int, ReadTrajectory]] = {}

    def lines(self) -> list[JudgedRecord]:
        """What is judged, in the order of the records."""
        return [self._lines[number] for number in sorted(self._lines)]

    def waiting(self) -> Iterator[Trajectory]:
        """The trajectories that the judge has to be asked about; all other records get their lines."""
        for number, record in enumerate(self._records):
            if isinstance(record, Damaged):
                self._lines[number] = _damaged(record, self._options.judge)
                continue
            if self._tasks is not None:
                record = record._replace(trajectory=self._tasks.join(record.trajectory))
            trajectory = record.trajectory
            is_incomplete = bool(record.missing) and not self._options.allow_missing
            if not is_incomplete and trajectory.trajectory_id in self._incomplete:  # this is the whole copy of it
                earlier, incomplete = self._incomplete.pop(trajectory.trajectory_id)
                rationale = f"{incomplete.place} is the same trajectory as {record.place}, which lacks no screenshot"
                self._leave_out(earlier, incomplete, Unjudged.DUPLICATE, rationale, is_copy=True)
                self._places[trajectory.trajectory_id] = record.place
            first = self._places.setdefault(trajectory.trajectory_id, record.place)
            if first != record.place:
                rationale = f"{record.place} is the same trajectory as {first}"
                self._leave_out(number, record, Unjudged.DUPLICATE, rationale, is_copy=True)
            elif is_incomplete:
                self._leave_out(number, record, Unjudged.MISSING_SCREENSHOT, "; ".join(record.missing))
                light = trajectory.model_copy(update={"turns": [], "final_screenshot": None})  # without its images
                self._incomplete[trajectory.trajectory_id] = number, record._replace(trajectory=light)
            elif (stored := self._stored.get(self._key(trajectory))) is not None:
                self._close(number, record, stored)
            else:
                self._open[trajectory.trajectory_id] = (number, record)
                yield trajectory

    def keep(self, verdict: Verdict) -> None:
        """Take a verdict of the judge."""
        number, record = self._open.pop(verdict.trajectory_id)
        if self._judge.is_costly and verdict.outcome is not Outcome.ERROR:
            self._journal.append(StoredVerdict(key=self._key(record.trajectory), verdict=verdict))
        self._close(number, record, verdict)

    def stop(self, waiting: Iterator[Trajectory], limit: str) -> None:
        """Give the rest its lines, after the judge has reached a limit. Without a limit there is no rest."""
        while self._open or next(waiting, None) is not None:
            _, (number, record) = self._open.popitem()
            self._leave_out(number, record, Unjudged.BUDGET, f"{limit}: raise it and run again to go on")

    def _close(self, number: int, record: ReadTrajectory, verdict: Verdict) -> None:
        self._lines[number] = JudgedRecord.of(record, verdict, _reason(verdict))
        self._options.on_progress(len(self._lines))

    def _leave_out(
        self, number: int, record: ReadTrajectory, reason: Unjudged, rationale: str, is_copy: bool = False
    ) -> None:
        """Give a record its line without a judgement. A copy gets an id of its own, because the table has one row per
        id."""
        identity = _identity(record.place) if is_copy else record.trajectory.trajectory_id
        verdict = _no_verdict(identity, rationale, self._options.judge)
        self._lines[number] = JudgedRecord.of(record, verdict, reason)

    def _key(self, trajectory: Trajectory) -> str:
        images = {"data"}
        content = trajectory.model_dump_json(
            exclude={
                "turns": {"__all__": {"observation": {"screenshot": images}, "timings": True}},
                "final_screenshot": images,
                "diagnostics": True,
            }
        )
        return hashlib.sha256(f"{self._judge.version}\x00{content}".encode()).hexdigest()


def _reason(verdict: Verdict) -> Unjudged | None:
    if verdict.outcome is Outcome.UNPARSED:
        return Unjudged.UNPARSED
    if verdict.outcome is not Outcome.ERROR:
        return None
    assert verdict.error_cause is not None, "every judge says why it gave no verdict"
    return _CAUSES[verdict.error_cause]


def _damaged(record: Damaged, judge: str) -> JudgedRecord:
    return JudgedRecord(
        source=record.place,
        task_id=None,
        verdict=_no_verdict(_identity(record.place), record.reason, judge),
        unjudged=Unjudged.DAMAGED,
        missing_screenshots=[],
    )


def _identity(place: str) -> str:
    """The id of a record that has none of its own."""
    return trajectory_id(place, 0, "", 0)


def _no_verdict(identity: str, rationale: str, judge: str) -> Verdict:
    return Verdict(trajectory_id=identity, outcome=Outcome.ERROR, rationale=rationale, judge=judge, judge_version="")


def _write(out: Path, lines: list[JudgedRecord], summary: RunSummary) -> None:
    write_table(out / TABLE, Verdict, (line.verdict for line in lines))
    partial = out / f".{LINES}.part"
    partial.write_text("".join(line.as_json() + "\n" for line in lines), encoding="utf-8")
    partial.replace(out / LINES)
    write_json(out / SUMMARY, summary.model_dump(mode="json"))
