"""Combines several judges by majority (BrowserAgent, section 3: valid if 2 of 3 judges agree).

In the paper fewer than two approvals are a rejection. Here a judge with an unreadable answer or a failed request has no
vote, so two of three must agree on a failure too. Otherwise the vote is undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from components.judge.protocols.base import Ruling
from components.records import Outcome, ProcessReport, Verdict


def vote(rulings: Sequence[Ruling]) -> Ruling:
    """The outcome of more than half of all judges, counting those without a vote.

    Without a majority the outcome is an error if a request failed, because it may succeed later, and otherwise
    unparsed.

    Raises:
        ValueError: there are no rulings.
    """
    if not rulings:
        raise ValueError("a vote needs at least one ruling: name an endpoint in judge.model.endpoint")
    counts = Counter(ruling.outcome for ruling in rulings)
    rationales = "\n".join(
        f"{number}. {ruling.outcome.value}: {ruling.rationale}" for number, ruling in enumerate(rulings, 1)
    )
    for outcome in (Outcome.SUCCESS, Outcome.FAILURE):
        if counts[outcome] * 2 > len(rulings):
            agreeing = [ruling.process for ruling in rulings if ruling.outcome is outcome and ruling.process]
            return Ruling(outcome, rationales, _common(agreeing))
    if not counts[Outcome.ERROR]:
        return Ruling(Outcome.UNPARSED, rationales)
    causes = Counter(ruling.error_cause for ruling in rulings if ruling.outcome is Outcome.ERROR)
    return Ruling(Outcome.ERROR, rationales, error_cause=causes.most_common(1)[0][0])


def voted(verdicts: Sequence[Verdict], judge: str = "vote") -> Verdict:
    """One verdict from several on the same trajectory; its cost is their sum, its time that of the slowest.

    Raises:
        ValueError: there are no verdicts, or they are on different trajectories.
    """
    if len({verdict.trajectory_id for verdict in verdicts}) > 1:
        raise ValueError("verdicts on different trajectories do not vote together: join them by id")
    ruling = vote(
        [Ruling(verdict.outcome, verdict.rationale, verdict.process, verdict.error_cause) for verdict in verdicts]
    )
    return Verdict(
        trajectory_id=verdicts[0].trajectory_id,
        outcome=ruling.outcome,
        error_cause=ruling.error_cause,
        rationale=ruling.rationale,
        process=ruling.process,
        judge=judge,
        judge_version="+".join(dict.fromkeys(verdict.judge_version for verdict in verdicts)),
        tokens=sum(verdict.tokens for verdict in verdicts),
        cost_usd=sum(verdict.cost_usd for verdict in verdicts),
        latency_s=max(verdict.latency_s for verdict in verdicts),
    )


def _common(reports: Sequence[ProcessReport]) -> ProcessReport | None:
    """The mean score, the commonest cause, and what any of the reports names; None without reports."""
    if not reports:
        return None
    return ProcessReport(
        score=sum(report.score for report in reports) / len(reports),
        failure=Counter(report.failure for report in reports).most_common(1)[0][0],
        side_effects=list(dict.fromkeys(text for report in reports for text in report.side_effects)),
        critical_points=list(dict.fromkeys(text for report in reports for text in report.critical_points)),
    )
