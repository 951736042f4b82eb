"""The judge that rewards, compared with an auditor while RL runs: figures, and when they end a phase.

A policy may learn to please its judge. Then the share of the judge's successes that are successes falls, while the
reward does not. Only the auditor sees it: the rules, or the model that labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.records import Outcome, Verdict
from components.training.selection import since_rollback

WINDOW = 3
"""Iterations over which precision is averaged, because that of a single one is noisy."""


def successes(verdicts: Sequence[Verdict]) -> dict[str, bool]:
    """Whether each attempt succeeded, by trajectory id, of those on which the verdicts decide."""
    decided = (Outcome.SUCCESS, Outcome.FAILURE)
    return {
        verdict.trajectory_id: verdict.outcome is Outcome.SUCCESS for verdict in verdicts if verdict.outcome in decided
    }


def audit_figures(verdicts: Mapping[str, Verdict], audited: Sequence[Verdict]) -> dict[str, float]:
    """How often the judge that rewards agrees with an auditor, as shares of the trajectories that both could judge.

    `judge_precision` is the share of the judge's successes that the auditor calls successes, too: it falls first when a
    policy learns to please the judge. `judge_success` and `audited_success` are the shares that the judge and the
    auditor call a success: a distance that grows is reward without success. A figure without any trajectory is left
    out.
    """
    judged = successes([*verdicts.values()])
    pairs = [(judged[key], success) for key, success in successes(audited).items() if key in judged]
    if not pairs:
        return {}
    figures = {
        "judge_audited": float(len(pairs)),
        "judge_agreement": _mean([float(rewarded == success) for rewarded, success in pairs]),
        "judge_success": _mean([float(rewarded) for rewarded, _ in pairs]),
        "audited_success": _mean([float(success) for _, success in pairs]),
    }
    passed = [float(success) for rewarded, success in pairs if rewarded]
    return figures | ({"judge_precision": _mean(passed)} if passed else {})


def ended_by_imprecision(figures: Sequence[Mapping[str, float]], least: float) -> str | None:
    """Why the phase ends, because the judge that rewards can no longer be trusted; None if it continues.

    Args:
        figures: of all iterations of the phase so far; those without `judge_precision` do not count, nor those before
        the phase went back to an earlier policy, which had not learned from them, nor those of the judge as it was
        before it was last trained again.
        least: the smallest mean of the last `WINDOW` precisions with which RL goes on (`judge.trust.min_precision`).
    """
    figures = since_rollback(figures)
    trainings = [index for index, iteration in enumerate(figures) if "judge_retrained_on" in iteration]
    since = figures[trainings[-1] :] if trainings else figures
    precisions = [iteration["judge_precision"] for iteration in since if "judge_precision" in iteration]
    if len(precisions) < WINDOW or (precision := _mean(precisions[-WINDOW:])) >= least:
        return None
    return (
        f"of the attempts that the judge called successes in the last {WINDOW} audited iterations, the auditor calls "
        f"{precision:.1%} successes, less than judge.trust.min_precision = {least:.1%}: the policy learns to please "
        "the judge. Read some of these attempts, and distil the judge with such failures"
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
