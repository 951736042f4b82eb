"""The rule of promotion: a model becomes the champion on evidence from the same tasks (`deserves_promotion`).

A decision is in the stage's state before the alias moves. A stage that was killed after that finds its own model as the
champion, and reports what it decided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from components import store, tracking
from components.evaluation import EvaluationError, deserves_promotion, paired_difference
from components.pipeline.closed_output import say
from components.pipeline.stage_run import StageRun
from components.records import Record

Scores = Mapping[str, float | None]
Evidence = dict[str, int | float | str]


class NotComparable(Exception):
    """The champion could not be measured, so it stays. The message is the reason, which is logged."""


class ChampionEvaluation(Record):
    """What the stage's result says of the champion's evaluation; `wall_s` is in seconds."""

    version: int
    harness_errors: int
    wall_s: float

    def report(self, run: StageRun) -> None:
        """Add it to the stage's result as `champion`."""
        run.result({"champion": self.model_dump(mode="json")})


class Compared(NamedTuple):
    """Scores by task of both models, measured on the same tasks in the same stage.

    `evaluation` is None if the stage's result has nothing about the champion.
    """

    candidate: Scores
    champion: Scores
    evaluation: ChampionEvaluation | None = None


class _Decision(Record):
    """What the stage decided about a version, as its state keeps it."""

    version: int
    promoted: bool
    evidence: Evidence
    evaluation: ChampionEvaluation | None = None

    @classmethod
    def read(cls, run: StageRun, name: str) -> _Decision | None:
        """The last one on a model that a try of the stage made; None without any."""
        path = _place(run, name)
        return cls.model_validate(store.read_json(path)) if path.exists() else None

    def carry_out(self, run: StageRun, name: str, champion: int | None) -> None:
        """Keep it in the stage's state, then log it and move the alias.

        Args:
            champion: the version with which this one was compared; None if there was none.

        Raises:
            ChampionChanged: another version has become the champion meanwhile.
        """
        store.write_json(_place(run, name), self.model_dump(mode="json"))
        run.tracker.decision(name, self.version, self.promoted, self.evidence, champion)


def promote_if_better(
    run: StageRun, name: str, version: int, measure: Callable[[tracking.ModelVersion], Compared]
) -> None:
    """Move the alias `champion` of model `name` to `version` if it beats the champion; print and log the decision.

    Without a champion, the version becomes the first one. A champion that was trained on another observation than this
    recipe's is not compared, because figures of two interfaces are not comparable. `measure` may raise `NotComparable`,
    and the champion stays, as it does where no task has a verdict on both sides. If the version is the champion because
    an earlier try of the stage promoted it, that decision is logged and reported again. If another pipeline makes its
    own model the champion meanwhile, the version is compared with that one.
    """
    while True:
        try:
            return _promote_if_better(run, name, version, measure)
        except tracking.ChampionChanged as change:
            say(f"champion: {change}, so {name} {version} is compared with that one")


def _promote_if_better(
    run: StageRun, name: str, version: int, measure: Callable[[tracking.ModelVersion], Compared]
) -> None:
    champion = tracking.champion(run.params, name)
    if champion is None:
        _Decision(version=version, promoted=True, evidence={"reason": "first champion"}).carry_out(run, name, None)
        say(f"champion: {name} {version} is the first")
        return
    if champion.version == version:
        earlier = _Decision.read(run, name)
        if earlier is not None and earlier.promoted and earlier.version == version:
            earlier.carry_out(run, name, version)
            if earlier.evaluation is not None:
                earlier.evaluation.report(run)
        say(f"champion: {name} {version} is the champion already")
        return
    try:
        foreign = champion.foreign_to(run.params)
        if foreign:
            raise NotComparable(f"{foreign}; to change over, move the alias `champion` to {version} in the MLflow UI")
        compared = measure(champion)
        scores = compared.candidate, compared.champion
        difference = paired_difference(*scores, run.params.evaluation.bootstrap, run.params.seed)
    except (NotComparable, EvaluationError) as reason:
        refusal: Evidence = {"against": champion.version, "reason": str(reason)}
        _Decision(version=version, promoted=False, evidence=refusal).carry_out(run, name, champion.version)
        say(f"champion: {name} {champion.version} stays: {reason}")
        return
    evaluation = run.params.evaluation
    promoted = deserves_promotion(difference, evaluation.promotion_min_tasks)
    low, high = difference.ci95
    evidence: Evidence = {
        "against": champion.version,
        "diff": difference.diff,
        "ci95_low": low,
        "ci95_high": high,
        "n": difference.n,
        "p_value": difference.p_value,
        "min_tasks": evaluation.promotion_min_tasks,
    }
    decision = _Decision(version=version, promoted=promoted, evidence=evidence, evaluation=compared.evaluation)
    decision.carry_out(run, name, champion.version)
    say(
        f"champion: {name} {version} {'replaces' if promoted else 'does not replace'} version {champion.version}: "
        f"{difference.diff:+.1%} [{low:+.1%}, {high:+.1%}], exact p {difference.p_value:.3g}, on {difference.n} tasks"
        + (
            f", fewer than evaluation.promotion_min_tasks = {evaluation.promotion_min_tasks}"
            if difference.n < evaluation.promotion_min_tasks
            else ""
        )
    )


def _place(run: StageRun, name: str) -> Path:
    return run.state / f"decision-{name}.json"
