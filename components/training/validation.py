"""Validation during RL: what is measured of a policy, and how the rollouts since the last validation went, by family.

A validation is one greedy episode per task of the splits `validation` and `heldout_validation`, with the step limit of
the phase. Beside it stand figures of the training rollouts since the validation before: they are sampled at
`rl.temperature` on training tasks, so their success is not that of greedy decoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from pydantic import Field

from components.judge import needs_judge, reward
from components.records import Record, Trajectory, Verdict
from components.rollout import Group, SampledGroups
from components.statistics import Interval, SuccessRate, success_rate, wilson

HELDOUT = "heldout_validation"
"""The split of validation tasks of families that are never trained on."""


@dataclass
class FamilyTally:
    """Sums over the training rollouts of one family since the last validation."""

    groups: int = 0
    effective: int = 0
    scored: int = 0
    """Groups with a scored first member."""
    agreeing: int = 0
    """Groups with several scored first members, all of which succeeded or all of which failed."""
    success: float = 0.0
    """Sum over the scored groups of the share of their first scored members that succeeded."""
    tokens: int = 0
    surprise: float = 0.0
    """Sum of -log p over the sampled tokens, in nats."""
    kl_tokens: int = 0
    kl: float = 0.0
    """Sum of the KL to the SFT policy over `kl_tokens` sampled tokens, in nats."""

    def add(self, group: Group, audited: Mapping[str, bool] | None = None) -> None:
        """Count one sampled group.

        Args:
            audited: as for `tallied`.
        """
        self.groups += 1
        self.effective += group.is_effective
        first = _successes(group, audited or {})
        if first:
            self.scored += 1
            self.agreeing += len(first) > 1 and len({*first}) == 1
            self.success += sum(first) / len(first)
        logprobs = [logprob for t in group.trajectories for turn in t.turns for logprob in turn.logprobs]
        self.tokens += len(logprobs)
        self.surprise -= sum(logprobs)


def _successes(group: Group, audited: Mapping[str, bool]) -> list[bool]:
    """Success of the first members that are not masked: as audited, if all judged ones are; else by their rewards."""
    members = zip(group.trajectories, group.rewards, strict=True)
    first = [(t, r) for t, r in list(members)[: len(group.rewards) - group.extra] if not r.masked]
    if all(t.trajectory_id in audited for t, _ in first if needs_judge(t)):
        return [audited.get(t.trajectory_id, r.value > 0) for t, r in first]
    return [r.value > 0 for _, r in first]


Tallies = dict[str, FamilyTally]
"""By family."""


def tallied(
    before: Mapping[str, FamilyTally],
    sampled: SampledGroups,
    kl: Mapping[str, tuple[float, int]],
    audited: Mapping[str, bool] | None = None,
) -> Tallies:
    """The tallies with one more iteration.

    Args:
        kl: of families, the sum of the KL over sampled tokens in nats and the number of tokens; may be empty.
        audited: whether an attempt succeeded, by trajectory id, as an auditor says of the attempts that it judged. It
            decides on the success of a group in which it judged all that the judge did, because a policy may learn to
            please the judge that rewards.
    """
    tallies = {family: replace(tally) for family, tally in before.items()}
    for group in sampled.groups:
        tallies.setdefault(group.task.family, FamilyTally()).add(group, audited)
    for family, (nats, tokens) in kl.items():
        tally = tallies.setdefault(family, FamilyTally())
        tally.kl, tally.kl_tokens = tally.kl + nats, tally.kl_tokens + tokens
    return tallies


class FamilyFigures(Record):
    """One family at one validation: the policy on `n` validation tasks, and the training rollouts since the one before.

    Shares are of 1; `entropy` and `kl_sft` are nats per sampled token. None: there is nothing to take the mean of.
    """

    family: str
    heldout: bool
    n: int
    rate: float | None
    wilson95: Interval | None
    groups: int = 0
    scored_groups: int = 0
    agreeing_groups: int | None = None
    """Of earlier versions, None."""
    effective_groups: int = 0
    training_success: float | None = None
    entropy: float | None = None
    kl_sft: float | None = None


class ValidationWarning(Record):
    """What a validation warns of: a figure that falls, or a family that stalls."""

    name: str
    """The family, or the families together."""
    text: str


class Validation(Record):
    """The policy after `iteration` updates on the validation tasks.

    `success` counts the tasks of the trained families that could be judged, `heldout` those of the held-out families.
    The training figures are over all families since the validation before. `seconds` is wall time.
    """

    iteration: int
    success: SuccessRate
    heldout: SuccessRate | None
    unjudged: int
    training_success: float | None
    effective_share: float | None
    entropy: float | None
    kl_sft: float | None
    seconds: float
    families: list[FamilyFigures]
    scores: dict[str, float]
    """Success by task id, of the judged tasks of the trained families."""
    warnings: list[ValidationWarning] = Field(default_factory=list)
    """By comparison with the validations before; empty in records of earlier versions."""

    def row(self) -> dict[str, float | None]:
        """The validation without its families as plain numbers, for MLflow."""
        heldout = self.heldout
        return {
            "iteration": float(self.iteration),
            "success": self.success.rate,
            "success_low": self.success.ci95.low,
            "success_high": self.success.ci95.high,
            "n": float(self.success.n),
            "heldout_success": heldout.rate if heldout else None,
            "heldout_low": heldout.ci95.low if heldout else None,
            "heldout_high": heldout.ci95.high if heldout else None,
            "unjudged": float(self.unjudged),
            "training_success": self.training_success,
            "effective_share": self.effective_share,
            "entropy": self.entropy,
            "kl_sft": self.kl_sft,
            "seconds": round(self.seconds, 2),
        }


class NothingValidated(RuntimeError):
    """No validation task could be judged, so no rate describes the policy."""


def validation(
    iteration: int,
    trajectories: Sequence[Trajectory],
    verdicts: Sequence[Verdict],
    tallies: Mapping[str, FamilyTally],
    seconds: float,
) -> Validation:
    """The record of one validation. An episode that the environment ended or no judge could read counts nowhere.

    Args:
        tallies: of the training rollouts since the validation before.

    Raises:
        NothingValidated: no task of a trained family could be judged.
    """
    verdict_of = {verdict.trajectory_id: verdict for verdict in verdicts}
    scores: dict[bool, dict[str, float]] = {False: {}, True: {}}
    by_family: dict[tuple[bool, str], list[float]] = {}
    for trajectory in trajectories:
        heldout = trajectory.task.split == HELDOUT
        scored = reward(trajectory, verdict_of.get(trajectory.trajectory_id))
        values = by_family.setdefault((heldout, trajectory.task.family), [])
        if not scored.masked:
            scores[heldout][trajectory.task_id] = float(scored.value > 0)
            values.append(float(scored.value > 0))
    if not scores[False]:
        raise NothingValidated(
            f"none of the {len(trajectories)} validation episodes after iteration {iteration} could be judged: the "
            "environment ended them, or the judge failed; fix the cause and run again, or set rl.validation.every to 0"
        )
    for family in tallies:
        by_family.setdefault((False, family), [])
    sums = zip(*map(astuple, [FamilyTally(), *tallies.values()]), strict=True)
    total = FamilyTally(*map(sum, sums))
    return Validation(
        iteration=iteration,
        success=_rate(scores[False]),
        heldout=_rate(scores[True]) if scores[True] else None,
        unjudged=len(trajectories) - sum(map(len, scores.values())),
        training_success=_share(total.success, total.scored),
        effective_share=_share(total.effective, total.groups),
        entropy=_share(total.surprise, total.tokens),
        kl_sft=_share(total.kl, total.kl_tokens),
        seconds=seconds,
        families=[
            _family(family, heldout, values, tallies.get(family, FamilyTally()) if not heldout else FamilyTally())
            for (heldout, family), values in sorted(by_family.items())
        ],
        scores=scores[False],
    )


def _family(name: str, heldout: bool, values: Sequence[float], tally: FamilyTally) -> FamilyFigures:
    rate = _share(sum(values), len(values))
    return FamilyFigures(
        family=name,
        heldout=heldout,
        n=len(values),
        rate=rate,
        wilson95=None if rate is None else wilson(rate, len(values)),
        groups=tally.groups,
        scored_groups=tally.scored,
        agreeing_groups=tally.agreeing,
        effective_groups=tally.effective,
        training_success=_share(tally.success, tally.scored),
        entropy=_share(tally.surprise, tally.tokens),
        kl_sft=_share(tally.kl, tally.kl_tokens),
    )


def _rate(scores: Mapping[str, float]) -> SuccessRate:
    return success_rate(np.array([scores[task] for task in sorted(scores)]))


def _share(total: float, count: int) -> float | None:
    return total / count if count else None


def validation_metrics(validation: Validation) -> dict[str, Any]:
    """A validation as nested figures for MLflow, with the number of warnings."""
    families = {figures.family: _family_metrics(figures) for figures in validation.families}
    return {**validation.row(), "warnings": len(validation.warnings), "families": families}


def _family_metrics(figures: FamilyFigures) -> dict[str, float | None]:
    """The figures of a family: shares and the numbers that they are of, and the ends of Wilson's interval of `rate`."""
    low, high = figures.wilson95 or (None, None)
    return {
        "rate": figures.rate,
        "rate_low": low,
        "rate_high": high,
        "n": figures.n,
        "training_success": figures.training_success,
        "scored_groups": figures.scored_groups,
        "effective_share": _share(figures.effective_groups, figures.groups),
        "groups": figures.groups,
        "entropy": figures.entropy,
        "kl_sft": figures.kl_sft,
    }


def validation_line(validation: Validation) -> str:
    """A validation on one line of the screen."""
    row, success = validation.row(), validation.success
    parts = [f"validation after iteration {validation.iteration}: {success.rate:.1%} of {success.n}"]
    parts.append(f"({success.ci95.low:.1%} to {success.ci95.high:.1%})")
    if validation.heldout is not None:
        parts.append(f" held-out families {validation.heldout.rate:.1%} of {validation.heldout.n}")
    figures = {name: row[name] for name in ("training_success", "kl_sft", "entropy")}
    parts += [f" {name} {value:.3f}" for name, value in figures.items() if value is not None]
    return " ".join([*parts, f" {validation.seconds:.0f} s"])


def validation_tables(validations: Sequence[Validation]) -> dict[str, list[dict[str, Any]]]:
    """The result of a stage: a row per validation, per validation and family, and per warning; empty without
    validations."""
    families = [
        {"iteration": validation.iteration, **figures.model_dump(mode="json")}
        for validation in validations
        for figures in validation.families
    ]
    rows = [
        validation.model_dump(mode="json", exclude={"families", "scores", "warnings"}) for validation in validations
    ]
    return {"validation": rows, "families": families, "warnings": warning_rows(validations)}


def warning_rows(validations: Sequence[Validation]) -> list[dict[str, Any]]:
    """A row per warning: the iteration of its validation, the family or families that it names, and its text."""
    return [
        {"iteration": validation.iteration, "name": warning.name, "warning": warning.text}
        for validation in validations
        for warning in validation.warnings
    ]
