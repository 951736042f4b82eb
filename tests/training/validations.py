"""Records of validations for tests."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from components.statistics import SuccessRate, success_rate, wilson
from components.training.validation import FamilyFigures, Validation


def figures(name: str, rate: float, n: int, success: float, groups: int, heldout: bool = False) -> FamilyFigures:
    """A family by its validation tasks, and by its training groups."""
    return FamilyFigures(
        family=name,
        heldout=heldout,
        n=n,
        rate=rate,
        wilson95=wilson(rate, n),
        groups=groups,
        scored_groups=groups,
        agreeing_groups=groups,
        training_success=success if groups else None,
    )


def watched(
    iteration: int,
    families: list[FamilyFigures],
    scores: Mapping[str, float] | None = None,
    success: SuccessRate | None = None,
    heldout: SuccessRate | None = None,
) -> Validation:
    """A validation with these families. Its success is that of `scores`, unless it is given."""
    by_task = dict(scores or {"a": 1.0})
    return Validation(
        iteration=iteration,
        success=success or success_rate(np.array([*by_task.values()])),
        heldout=heldout,
        unjudged=0,
        training_success=None,
        effective_share=None,
        entropy=None,
        kl_sft=None,
        seconds=0.0,
        families=families,
        scores=by_task,
    )


def together(iteration: int, families: list[FamilyFigures]) -> Validation:
    """A validation whose rates are those of its families."""
    rates = {}
    for heldout in (False, True):
        members = [family for family in families if family.heldout == heldout]
        trials, won = sum(family.n for family in members), sum(family.n * (family.rate or 0) for family in members)
        rates[heldout] = (
            success_rate(np.array([index < round(won) for index in range(trials)], float)) if trials else None
        )
    return watched(iteration, families, success=rates[False], heldout=rates[True])
