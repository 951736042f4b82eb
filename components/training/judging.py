"""Judges the episodes of an iteration, each as soon as it ends if the judge takes them one by one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from components.judge import JudgeFn, needs_judge
from components.records import Trajectory, Verdict
from components.store import read_json, write_json


@dataclass
class RolloutClock:
    """Measures the seconds in which a judge works and no episode runs."""

    judge_s: float = 0.0
    _rolling: int = 0
    _judging: int = 0
    _since: float = 0.0

    @contextmanager
    def rolling(self) -> Iterator[None]:
        """Count the time until the end of the context as time in which an episode runs."""
        self._change(1, 0)
        try:
            yield
        finally:
            self._change(-1, 0)

    @contextmanager
    def judging(self) -> Iterator[None]:
        """Count the time until the end of the context as time in which a judge works."""
        self._change(0, 1)
        try:
            yield
        finally:
            self._change(0, -1)

    def _change(self, rolling: int, judging: int) -> None:
        now = time.monotonic()
        if self._judging and not self._rolling:
            self.judge_s += now - self._since
        self._rolling, self._judging, self._since = self._rolling + rolling, self._judging + judging, now


@dataclass(frozen=True)
class Judged:
    """The verdicts on some trajectories: of the judge that rewards, and of the auditor."""

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """By trajectory id, in the order of the trajectories."""
    audited: list[Verdict] = field(default_factory=list)
    """The auditor's."""

    def write(self, path: Path) -> None:
        """Keep the answers, published by rename."""
        both = {"verdicts": [*self.verdicts.values()], "audited": self.audited}
        write_json(path, {key: [verdict.model_dump(mode="json") for verdict in part] for key, part in both.items()})

    @classmethod
    def read(cls, path: Path) -> Judged:
        """The answers that `write` kept."""
        verdicts, audited = (list(map(Verdict.model_validate, read_json(path)[key])) for key in ("verdicts", "audited"))
        return cls({verdict.trajectory_id: verdict for verdict in verdicts}, audited)


class EpisodeJudging:
    """Asks a judge, and then an auditor, about the episodes of a batch. Leaving the context ends the open questions.

    Args:
        known: answers of an earlier try, which are not asked for again.
    """

    def __init__(self, judge: JudgeFn, audit: JudgeFn | None, clock: RolloutClock, known: Judged | None = None) -> None:
        self._judge, self._audit, self._clock = judge, audit, clock
        self._known = known or Judged()
        self._questions: dict[str, asyncio.Task[Judged]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for question in self._questions.values():
            question.cancel()
        await asyncio.gather(*self._questions.values(), return_exceptions=True)

    def begin(self, trajectory: Trajectory) -> None:
        """Ask about an episode that has just ended, beside those that still run."""
        if self._is_open(trajectory):
            self._questions[trajectory.trajectory_id] = asyncio.create_task(self._ask([trajectory]))

    async def finish(self, trajectories: list[Trajectory]) -> Judged:
        """The answers about all trajectories. Those that nothing was asked about are judged now, together.

        An error of the judge is raised here, when no episode of this batch runs that it could end. With
        `rl.open_groups` it ends the episodes of the other open groups. The other questions of the batch are awaited
        before it is raised, because they may be paid for.
        """
        rest = [t for t in trajectories if self._is_open(t) and t.trajectory_id not in self._questions]
        questions = [*self._questions.values(), *([self._ask(rest)] if rest else [])]
        answers: list[Judged] = []
        for answer in await asyncio.gather(*questions, return_exceptions=True):
            if isinstance(answer, BaseException):
                raise answer
            answers.append(answer)
        parts = [self._known, *answers]
        verdicts = {key: verdict for part in parts for key, verdict in part.verdicts.items()}
        audited = {verdict.trajectory_id: verdict for part in parts for verdict in part.audited}
        order = [trajectory.trajectory_id for trajectory in trajectories]
        return Judged(
            {key: verdicts[key] for key in order if key in verdicts}, [audited[key] for key in order if key in audited]
        )

    def _is_open(self, trajectory: Trajectory) -> bool:
        return needs_judge(trajectory) and trajectory.trajectory_id not in self._known.verdicts

    async def _ask(self, trajectories: list[Trajectory]) -> Judged:
        with self._clock.judging():
            verdicts = {verdict.trajectory_id: verdict for verdict in await self._judge(trajectories)}
            return Judged(verdicts, [] if self._audit is None else await self._audit(trajectories))
