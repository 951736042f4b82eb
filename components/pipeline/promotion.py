"""The rule of promotion: a model becomes the champion on evidence from the same tasks (`deserves_promotion`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from components import tracking
from components.evaluation import EvaluationError, deserves_promotion, paired_difference
from components.pipeline.stage_run import StageRun

Scores = Mapping[str, float | None]


class NotComparable(Exception):
    """The champion could not be measured, so it stays. The message is the reason, which is logged."""


class Compared(NamedTuple):
    """Scores by task of both models, measured on the same tasks in the same stage."""

    candidate: Scores
    champion: Scores


def promote_if_better(
    run: StageRun, name: str, version: int, measure: Callable[[tracking.ModelVersion], Compared]
) -> None:
    """Move the alias `champion` of model `name` to `version` if it beats the champion; print and log the decision.

    Without a champion, the version becomes the first one. A champion that was trained on another observation than this
    recipe's is not compared, because figures of two interfaces are not comparable. `measure` may raise `NotComparable`,
    and the champion stays, as it does where no task has a verdict on both sides.
    """
    champion = tracking.champion(run.params, name)
    if champion is None:
        run.tracker.decision(name, version, True, {"reason": "first champion"})
        print(f"champion: {name} {version} is the first")
        return
    if champion.version == version:
        print(f"champion: {name} {version} is the champion already")
        return
    try:
        foreign = champion.foreign_to(run.params)
        if foreign:
            raise NotComparable(f"{foreign}; to change over, move the alias `champion` to {version} in the MLflow UI")
        compared = measure(champion)
        difference = paired_difference(*compared, run.params.evaluation.bootstrap, run.params.seed)
    except (NotComparable, EvaluationError) as reason:
        run.tracker.decision(name, version, False, {"against": champion.version, "reason": str(reason)})
        print(f"champion: {name} {champion.version} stays: {reason}")
        return
    evaluation = run.params.evaluation
    promoted = deserves_promotion(difference, evaluation.promotion_min_tasks)
    low, high = difference.ci95
    evidence = {
        "against": champion.version,
        "diff": difference.diff,
        "ci95_low": low,
        "ci95_high": high,
        "n": difference.n,
        "p_value": difference.p_value,
        "min_tasks": evaluation.promotion_min_tasks,
    }
    run.tracker.decision(name, version, promoted, evidence)
    print(
        f"champion: {name} {version} {'replaces' if promoted else 'does not replace'} version {champion.version}: "
        f"{difference.diff:+.1%} [{low:+.1%}, {high:+.1%}], exact p {difference.p_value:.3g}, on {difference.n} tasks"
        + (
            f", fewer than evaluation.promotion_min_tasks = {evaluation.promotion_min_tasks}"
            if difference.n < evaluation.promotion_min_tasks
            else ""
        )
    )
