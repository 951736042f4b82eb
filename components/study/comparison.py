"""A study's result: every arm against the base, beside what the paper says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Literal

from components.records import Record
from components.study.effects import METHOD, Effect, effects
from components.study.expansion import Study
from components.study.results import Measured, RunResult
from components.study.study_file import PaperClaim

Direction = Literal["higher", "lower", "undecided"]
Standing = Literal["agrees", "differs", "undecided", "not measured", "no claim"]
"""Our sign against the paper's. `undecided`: our interval contains 0."""


class ArmResult(Record):
    """One arm, or the base. Rates are means over seeds, as shares of 1; `sd` is over seeds, None for fewer than two.

    `keys` are the keys that it sets with their values, as text. `effect` is over the test tasks, `heldout_effect` over
    families that are never trained on; both are None for the base, and for an arm that is not measured yet.
    """

    arm: str
    about: str
    keys: dict[str, str]
    finished: int
    rate: float | None
    sd: float | None
    heldout: float | None
    actions: float | None
    effect: Effect | None = None
    heldout_effect: Effect | None = None
    direction: Direction | None = None
    paper: PaperClaim | None = None
    standing: Standing = "no claim"


class StudyResult(Record):
    """`reports/studies/NAME.json`. `complete` is true if all runs are finished."""

    study: str
    question: str
    recipe: str
    compares: str
    base: str
    seeds: list[int]
    commit: str | None
    method: str
    complete: bool
    arms: list[ArmResult]
    runs: list[RunResult]


def compare(study: Study, measured: Sequence[Measured], commit: str | None = None) -> StudyResult:
    """Compare the finished runs. Arms and seeds that are not finished are left out, and named in `runs`."""
    done = [measurement for measurement in measured if measurement.run.state == "finished"]
    arms = [study.file.base, *study.arms]
    tested: dict[str, dict[int, Mapping[str, float | None]]] = {arm: {} for arm in arms}
    heldout: dict[str, dict[int, Mapping[str, float | None]]] = {arm: {} for arm in arms}
    for measurement in done:
        tested[measurement.run.arm][measurement.run.seed] = measurement.tested
        heldout[measurement.run.arm][measurement.run.seed] = measurement.heldout
    of_tested, of_heldout = effects(tested, study.file.base), effects(heldout, study.file.base)
    return StudyResult(
        study=study.name,
        question=study.file.question,
        recipe=study.file.recipe,
        compares=f"evaluate@{study.file.compare}",
        base=study.file.base,
        seeds=study.file.seeds,
        commit=commit,
        method=METHOD,
        complete=len(done) == len(measured),
        arms=[_arm(study, arm, done, of_tested.get(arm), of_heldout.get(arm)) for arm in arms],
        runs=[measurement.run for measurement in measured],
    )


def direction(effect: Effect | None) -> Direction | None:
    """The sign of an effect whose interval does not contain 0."""
    if effect is None:
        return None
    if effect.ci95.low > 0:
        return "higher"
    return "lower" if effect.ci95.high < 0 else "undecided"


def standing(sign: Direction | None, claim: PaperClaim | None) -> Standing:
    """How our sign stands to the paper's. No sign that we measure can agree with, or differ from, "mixed"."""
    if claim is None:
        return "no claim"
    if sign is None:
        return "not measured"
    if sign == "undecided" or claim.sign == "mixed":
        return "undecided"
    return "agrees" if sign == claim.sign else "differs"


def _arm(study: Study, arm: str, done: Sequence[Measured], effect: Effect | None, heldout: Effect | None) -> ArmResult:
    runs = [measurement.run for measurement in done if measurement.run.arm == arm]
    rates = [run.success.rate for run in runs if run.success is not None]
    held = [run.heldout.rate for run in runs if run.heldout is not None]
    actions = [run.actions for run in runs if run.actions is not None]
    own = study.file.arms.get(arm)
    claim, sign = own.paper if own is not None else None, direction(effect)
    return ArmResult(
        arm=arm,
        about=own.about if own is not None else "",
        keys={change.key: "removed" if change.new is ... else str(change.new) for change in study.changed(arm)},
        finished=len(runs),
        rate=fmean(rates) if rates else None,
        sd=stdev(rates) if len(rates) > 1 else None,
        heldout=fmean(held) if held else None,
        actions=fmean(actions) if actions else None,
        effect=effect,
        heldout_effect=heldout,
        direction=sign,
        paper=claim,
        standing=standing(sign, claim),
    )
