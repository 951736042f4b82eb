"""Promotes a distilled judge to champion if it agrees with the labels more often on the same trajectories."""

from __future__ import annotations

from collections.abc import Sequence

from components import tracking
from components.judge.distilled import DistilledJudge
from components.model import VLM
from components.pipeline.promotion import Compared, promote_if_better
from components.pipeline.stage_run import StageRun
from components.records import Outcome, Trajectory, Verdict


def decide_judge(
    run: StageRun, version: int, tested: Sequence[Trajectory], labels: list[Outcome], verdicts: list[Verdict]
) -> None:
    """Move the judge's alias `champion` to `version` if it agrees with the labels more often than the champion does.

    Both judge the same held-out trajectories. A champion of another seed may have been trained on some of them, which
    favours the champion.
    """

    def measure(champion: tracking.ModelVersion) -> Compared:
        judge = DistilledJudge(VLM.load(champion.path, run.params.model), f"champion {champion.version}", run.params)
        return Compared(_right(tested, labels, verdicts), _right(tested, labels, judge.judge(tested)))

    promote_if_better(run, tracking.JUDGE, version, measure)


def _right(tested: Sequence[Trajectory], labels: list[Outcome], verdicts: list[Verdict]) -> dict[str, float | None]:
    """Share of right verdicts by task, because attempts at the same task are not independent."""
    right: dict[str, list[bool]] = {}
    for trajectory, label, verdict in zip(tested, labels, verdicts, strict=True):
        right.setdefault(trajectory.task_id, []).append(verdict.outcome is label)
    return {task: sum(hits) / len(hits) for task, hits in right.items()}
