"""The rule by which a model becomes the champion: the paired interval over the same tasks lies above 0."""

from __future__ import annotations

from collections.abc import Mapping

from components.evaluation import beats, paired
from components.stages._run import StageRun


def compare(
    run: StageRun,
    name: str,
    version: int,
    against: int,
    mine: Mapping[str, float | None],
    theirs: Mapping[str, float | None],
) -> None:
    """Move the alias `champion` to `version` if `mine` beats `theirs`, both scores by task; say so either way."""
    difference = paired(mine, theirs, run.params.evaluation.bootstrap, run.params.seed)
    promoted = beats(difference)
    low, high = difference.ci95
    evidence = {
        "against": against,
        "diff": difference.diff,
        "ci95_low": low,
        "ci95_high": high,
        "n": difference.n,
    }
    run.tracker.decision(name, version, promoted, evidence)
    print(
        f"champion: {name} {version} {'replaces' if promoted else 'does not replace'} version {against}: "
        f"{difference.diff:+.1%} [{low:+.1%}, {high:+.1%}] on {difference.n} tasks"
    )
