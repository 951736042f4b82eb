"""The rule by which a model becomes the champion: the paired interval over the same tasks lies above 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from components import tracking
from components.evaluation import beats, paired
from components.stages._run import StageRun

Scores = Mapping[str, float | None]


class Void(Exception):
    """The champion could not be measured, so nothing can be said; the message is the reason that is kept."""


class Compared(NamedTuple):
    """Scores by task of candidate and champion, from the same tasks, measured here and now."""

    mine: Scores
    theirs: Scores


def promote_if_better(run: StageRun, name: str, version: int, measure: Callable[[tracking.Champion], Compared]) -> None:
    """Move the alias `champion` of model `name` to `version` if it beats the champion; say so either way.

    Without a champion, the version becomes the first. One that is shown something else than this recipe shows is not
    compared: figures over two interfaces say nothing. `measure` may raise `Void`, and the champion stays.
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
            raise Void(f"{foreign}; to change over, move the alias `champion` to {version} in the MLflow UI")
        compared = measure(champion)
    except Void as reason:
        run.tracker.decision(name, version, False, {"against": champion.version, "reason": str(reason)})
        print(f"champion: {name} {champion.version} stays: {reason}")
        return
    difference = paired(*compared, run.params.evaluation.bootstrap, run.params.seed)
    promoted = beats(difference)
    low, high = difference.ci95
    evidence = {
        "against": champion.version,
        "diff": difference.diff,
        "ci95_low": low,
        "ci95_high": high,
        "n": difference.n,
    }
    run.tracker.decision(name, version, promoted, evidence)
    print(
        f"champion: {name} {version} {'replaces' if promoted else 'does not replace'} version {champion.version}: "
        f"{difference.diff:+.1%} [{low:+.1%}, {high:+.1%}] on {difference.n} tasks"
    )
