"""Combines several judges by majority (BrowserAgent, section 3: valid if 2 of 3 judges agree).

In the paper fewer than two approvals are a rejection. Here a judge with an unreadable answer or a failed request has no
vote, so two of three must agree on a failure too. Otherwise the vote is undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from components.judge.protocols.base import Ruling
from components.records import Outcome, Verdict


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
            return Ruling(outcome, rationales)
    return Ruling(Outcome.ERROR if counts[Outcome.ERROR] else Outcome.UNPARSED, rationales)


def voted(verdicts: Sequence[Verdict], judge: str = "vote") -> Verdict:
    """One verdict from several on the same trajectory; its cost is their sum, its time that of the slowest.

    Raises:
        ValueError: there are no verdicts, or they are on different trajectories.
    """
    if len({verdict.trajectory_id for verdict in verdicts}) > 1:
        raise ValueError("verdicts on different trajectories do not vote together: join them by id")
    outcome, rationale = vote([Ruling(verdict.outcome, verdict.rationale) for verdict in verdicts])
    return Verdict(
        trajectory_id=verdicts[0].trajectory_id,
        outcome=outcome,
        rationale=rationale,
        judge=judge,
        judge_version="+".join(dict.fromkeys(verdict.judge_version for verdict in verdicts)),
        tokens=sum(verdict.tokens for verdict in verdicts),
        cost_usd=sum(verdict.cost_usd for verdict in verdicts),
        latency_s=max(verdict.latency_s for verdict in verdicts),
    )
