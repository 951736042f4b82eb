"""A study's result: every arm against the base, beside what the paper says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Literal

from pydantic import Field

from components.records import Record
from components.study.draws import Draw, DrawSources, draw_sources
from components.study.effects import METHOD, Effect, Scores, effect, effects, paired
from components.study.expansion import Study
from components.study.falls import Fall, falls
from components.study.results import Measured, RunResult
from components.study.study_file import PaperClaim
from components.study.variance import VarianceSources, variance_sources

Direction = Literal["higher", "lower", "undecided"]
Standing = Literal["agrees", "differs", "undecided", "not measured", "no claim"]
"""Our sign against the paper's. `undecided`: our interval contains 0."""
RL_SEEDS = {"rl.task_seed", "rl.sampling_seed"}


class FamilySpread(Record):
    """The success on one family of tasks over the seeds, as shares of 1. `before` is the mean before RL."""

    family: str
    before: float | None
    mean: float
    lowest: float
    highest: float


class ArmResult(Record):
    """One arm, or the base. Rates are means over seeds, as shares of 1; `sd` is over seeds, None for fewer than two.

    `actions` is per success on the test tasks, and `actions_of_teacher` its ratio to the teacher's on as many successes
    of the same families.

    `before` is the success before RL and `gain` what RL adds to it, `heldout_gain` on families never trained on; their
    intervals are those of one comparison. All three are None without RL. `families` are those of the test tasks.

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
    actions_of_teacher: float | None = None
    episodes: float | None = None
    """Mean number of RL's episodes."""
    rl_seconds: float | None = None
    """Mean seconds of RL, over the runs in whose folder all of it ran; None if there are none."""
    before: float | None = None
    gain: Effect | None = None
    heldout_gain: Effect | None = None
    families: list[FamilySpread] = Field(default_factory=list)
    variance: dict[str, VarianceSources] = Field(default_factory=dict)
    """The sources of variance over the seeds: of `success`, of the success `before` RL and of the `gain`, and the same
    with `heldout` in front for families that are never trained on."""
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
    """Of the project when the runs were compared; those of the runs are in `runs`."""
    method: str
    complete: bool
    arms: list[ArmResult]
    runs: list[RunResult]
    falls: list[Fall] = Field(default_factory=list)
    """Families that RL made worse, run by run, the largest fall first."""
    draws: dict[str, DrawSources] = Field(default_factory=dict)
    """Of a study whose arms set RL's seeds alone: the sources of `success` and of `heldout success`."""


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
        falls=falls(done),
        draws=draws(study, done),
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


def families(runs: Sequence[RunResult]) -> list[FamilySpread]:
    """The families of the test tasks, by name."""
    rates: dict[str, list[float]] = {}
    before: dict[str, list[float]] = {}
    for run in runs:
        for family, rate in run.families.items():
            rates.setdefault(family, []).append(rate)
        for family, rate in run.families_before.items():
            before.setdefault(family, []).append(rate)
    return [
        FamilySpread(
            family=family,
            before=fmean(before[family]) if family in before else None,
            mean=fmean(members),
            lowest=min(members),
            highest=max(members),
        )
        for family, members in sorted(rates.items())
    ]


def variances(measured: Sequence[Measured]) -> dict[str, VarianceSources]:
    """The sources of variance of an arm's finished runs; none without a second seed, or if seeds have other tasks."""
    family_of = {task: family for measurement in measured for task, family in measurement.family_of.items()}
    tables: dict[str, dict[int, Scores]] = {
        "success": {measurement.run.seed: measurement.tested for measurement in measured},
        "before": {measurement.run.seed: measurement.before for measurement in measured},
        "gain": {measurement.run.seed: paired(measurement.tested, measurement.before) for measurement in measured},
        "heldout success": {measurement.run.seed: measurement.heldout for measurement in measured},
        "heldout before": {measurement.run.seed: measurement.heldout_before for measurement in measured},
        "heldout gain": {
            measurement.run.seed: paired(measurement.heldout, measurement.heldout_before) for measurement in measured
        },
    }
    sources = {name: variance_sources(scores, family_of) for name, scores in tables.items()}
    return {name: of_table for name, of_table in sources.items() if of_table is not None}


def draws(study: Study, measured: Sequence[Measured]) -> dict[str, DrawSources]:
    """The sources of variance of a study whose arms set RL's seeds alone; none for others. An arm that is not finished
    with every seed is left out."""
    if not study.arms or any(change.key not in RL_SEEDS for arm in study.arms for change in study.changed(arm)):
        return {}
    recipes = {run.name: run.params for run in study.runs}
    finished = Counter(measurement.run.arm for measurement in measured)
    by_draw: dict[Draw, Measured] = {}
    for measurement in measured:
        if finished[measurement.run.arm] < len(study.file.seeds):
            continue
        params = recipes[measurement.run.name]
        by_draw[Draw(measurement.run.seed, params.task_seed, params.sampling_seed)] = measurement
    sources = {
        "success": draw_sources({draw: measurement.tested for draw, measurement in by_draw.items()}),
        "heldout success": draw_sources({draw: measurement.heldout for draw, measurement in by_draw.items()}),
    }
    return {name: of_table for name, of_table in sources.items() if of_table is not None}


def _arm(study: Study, arm: str, done: Sequence[Measured], against: Effect | None, heldout: Effect | None) -> ArmResult:
    of_arm = [measurement for measurement in done if measurement.run.arm == arm]
    runs = [measurement.run for measurement in of_arm]
    before = [run.before.rate for run in runs if run.before is not None]
    rates = [run.success.rate for run in runs if run.success is not None]
    held = [run.heldout.rate for run in runs if run.heldout is not None]
    actions = [run.actions for run in runs if run.actions is not None]
    episodes = [run.episodes for run in runs if run.episodes is not None]
    seconds = [run.rl_seconds for run in runs if run.rl_seconds is not None]
    ratios = [run.actions_of_teacher for run in runs if run.actions_of_teacher is not None]
    own = study.file.arms.get(arm)
    claim, sign = own.paper if own is not None else None, direction(against)
    return ArmResult(
        arm=arm,
        about=own.about if own is not None else "",
        keys={change.key: "removed" if change.new is ... else str(change.new) for change in study.changed(arm)},
        finished=len(runs),
        rate=fmean(rates) if rates else None,
        sd=stdev(rates) if len(rates) > 1 else None,
        heldout=fmean(held) if held else None,
        actions=fmean(actions) if actions else None,
        actions_of_teacher=fmean(ratios) if ratios else None,
        episodes=fmean(episodes) if episodes else None,
        rl_seconds=fmean(seconds) if seconds else None,
        before=fmean(before) if before else None,
        gain=effect(
            {measurement.run.seed: measurement.tested for measurement in of_arm},
            {measurement.run.seed: measurement.before for measurement in of_arm},
        ),
        heldout_gain=effect(
            {measurement.run.seed: measurement.heldout for measurement in of_arm},
            {measurement.run.seed: measurement.heldout_before for measurement in of_arm},
        ),
        families=families(runs),
        variance=variances(of_arm),
        effect=against,
        heldout_effect=heldout,
        direction=sign,
        paper=claim,
        standing=standing(sign, claim),
    )
