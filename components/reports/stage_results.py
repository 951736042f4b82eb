"""Reads the results of the stages as records: `reports/stages/*.json` and the loss curves.

A stage may write more keys than a record here has; the keys of the record must be there.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from components.evaluation.errors import EvaluationError
from components.evaluation.metrics import SUMMARY_KEYS, SuccessSummary
from components.judge.agreement import Agreement
from components.judge.calibration import Calibration
from components.judge.labelled_verdicts import LabelledVerdicts
from components.reports.rl_validation import WatchedPhase
from components.reports.stage_output import StageOutput, parsed, read_result, rerun
from components.tasks.funnel import SELECTION, FunnelStep

POLICIES = ("base", "sft", "rl")
PHASES = ("short", "long")
OUTSIDE = {"pretrain_base", "nightly", "leaderboard", "report"}
"""Stages that a run's report leaves out: one is frozen, one runs on a schedule, and the others are reports."""
BENCHMARK = "benchmark@"
"""Prefix of the names of benchmark runs, which the report leaves out too."""

Number = Annotated[
    float | None, BeforeValidator(lambda value: None if isinstance(value, float) and math.isnan(value) else value)
]
"""A measurement; None where it has no value (an iteration without an update has no clip fraction)."""


class Collected(StageOutput):
    """Numbers of tasks from `collect_tasks`, in all and by split; older results lack the splits that are 0 here."""

    collected: int
    rejected: int
    train: int
    rl: int = 0
    eval: int
    heldout: int
    validation: int = 0
    heldout_validation: int = 0


class Filtered(StageOutput):
    """Numbers of tasks from `filter_tasks`."""

    kept: int
    funnel: list[FunnelStep]


class Deduplicated(StageOutput):
    """Sizes of the training pools from `dedup_tasks`, and their funnels, which older results lack. Tasks of the split
    `rl` are only in the funnel of the RL pool."""

    sft: int
    rl: int
    sft_funnel: list[FunnelStep] = Field(default_factory=list)
    rl_funnel: list[FunnelStep] = Field(default_factory=list)


class Evaluated(StageOutput):
    """What success means in the worlds of an evaluation, by name, from `evaluate`; empty in older results."""

    clean_success: dict[str, str] = Field(default_factory=dict)


class Curated(StageOutput):
    """The demonstrations that SFT learns from; the funnel is of the teacher's attempts."""

    trajectories: int
    websites: int
    funnel: list[FunnelStep]


class JudgeResult(Agreement):
    """The distilled judge's agreement with the labels of held-out tasks."""

    model_config = ConfigDict(extra="ignore")

    untrained_accuracy: float
    calibration: list[Calibration] = Field(default_factory=list)
    """The base, the distilled judge and its vote on the same trajectories, with intervals."""


class RLIteration(StageOutput):
    """One RL iteration, numbered across both phases. Times are in seconds, `logprob_gap_max` is in nats.

    `selection` is the funnel of an objective that selects (`Objective.selection`): the attempts, how many each step
    dropped, and how many were chosen.
    """

    iteration: int = 0
    phase: str = ""
    reward_mean: Number = None
    pool_reward: Number = None
    effective_groups: int
    sampled_groups: int
    episodes: Number = None
    ratio_mean: Number = None
    clip_fraction: Number = None
    logprob_gap_max: Number = None
    turns_mean: Number = None
    overdone_share: Number = None
    judge_success: Number = None
    """None where the judge that rewards is not audited, as the three below."""
    audited_success: Number = None
    judge_precision: Number = None
    judge_agreement: Number = None
    response_tokens_mean: Number = None
    rollout_s: Number = None
    train_s: Number = None
    iteration_s: Number = None
    """None in results of older versions, as the times below."""
    weights_s: Number = None
    waited_s: Number = None
    judge_s: Number = None
    episodes_s: Number = None
    browser_s: Number = None
    policy_s: Number = None
    queue_s: Number = None
    vision_s: Number = None
    """None with servers, as the two below."""
    prefill_s: Number = None
    decode_s: Number = None
    encoding_s: Number = None
    forward_s: Number = None
    backward_s: Number = None
    optimizer_s: Number = None
    selection: dict[str, int] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _gather_selection(cls, figures: dict[str, Any]) -> dict[str, Any]:
        counts = {name: count for name, count in figures.items() if name.startswith(SELECTION)}
        selection = {name.removeprefix(SELECTION): count for name, count in counts.items()}
        return figures | ({"selection": selection} if selection else {})


class StageResults(StageOutput):
    """The report's input from the stages.

    `wall_s` has seconds per stage, `spans` the times in which stages worked (seconds since the epoch), `pipelines` the
    pipeline run of each stage's result.
    """

    wall_s: dict[str, float]
    champion_s: float
    """Seconds of `evaluate@rl` in which it evaluated the champion again, which no plan has."""
    pipelines: dict[str, str]
    spans: list[tuple[float, float]]
    collected: Collected
    filtered: Filtered
    dedup: Deduplicated
    curated: Curated
    judge: JudgeResult
    rewarding_judge: LabelledVerdicts | None
    """The model that rewarded, beside the labels that it was measured on; None if no model was measured."""
    iterations: list[RLIteration]
    watched: dict[str, WatchedPhase]
    """By phase."""
    success: dict[str, SuccessSummary]
    clean_success: dict[str, str]
    """By world, what "done, and nothing else done" means."""
    losses: dict[str, list[tuple[float, float]]]
    """(step, loss) of each supervised training."""


def read_results(stages: Path, curves: Path) -> StageResults:
    """Read `reports/stages` and `reports/curves`.

    Raises:
        EvaluationError: a stage has no result yet, or its result lacks a number that the report needs.
    """
    raw = {
        path.stem: read_result(path, rerun(path.stem))
        for path in sorted(stages.glob("*.json"))
        if path.stem not in OUTSIDE and not path.stem.startswith(BENCHMARK)
    }
    return StageResults(
        wall_s={name: float(value["wall_s"]) for name, value in raw.items() if "wall_s" in value},
        champion_s=float(raw.get("evaluate@rl", {}).get("champion", {}).get("wall_s", 0.0)),
        pipelines={name: str(value.get("pipeline", "")) for name, value in raw.items()},
        spans=[(begin, end) for value in raw.values() for begin, end in value.get("spans", [])],
        collected=_parse(raw, "collect_tasks", Collected),
        filtered=_parse(raw, "filter_tasks", Filtered),
        dedup=_parse(raw, "dedup_tasks", Deduplicated),
        curated=_parse(raw, "curate_sft", Curated),
        judge=_parse(raw, "distill_judge", JudgeResult),
        rewarding_judge=_rewarding_judge(raw),
        iterations=_iterations(raw),
        watched={phase: _parse(raw, f"train_rl@{phase}", WatchedPhase) for phase in PHASES},
        success={name: _summary(raw, name) for name in POLICIES},
        clean_success=_parse(raw, "evaluate@rl", Evaluated).clean_success,
        losses={name: _loss(curves / f"{name}.csv") for name in ("sft", "judge") if (curves / f"{name}.csv").exists()},
    )


W = TypeVar("W", bound=BaseModel)


def _parse(raw: dict[str, dict[str, Any]], stage: str, kind: type[W]) -> W:
    if stage not in raw:
        raise EvaluationError(f"stage {stage} has no result yet; run `dvc repro {stage}`")
    return parsed(kind, raw[stage], f"the result of stage {stage} cannot be reported", rerun(stage))


def _summary(raw: dict[str, dict[str, Any]], policy: str) -> SuccessSummary:
    stage = f"evaluate@{policy}"
    known = {name: value for name, value in raw.get(stage, {}).items() if name in SUMMARY_KEYS}
    return _parse({stage: known} if known else {}, stage, SuccessSummary)


class _Phase(StageOutput):
    iterations: list[RLIteration]
    judge_verdicts: LabelledVerdicts | None = None


def _iterations(raw: dict[str, dict[str, Any]]) -> list[RLIteration]:
    """Both phases in order, numbered from 1 on."""
    merged = [
        (phase, iteration) for phase in PHASES for iteration in _parse(raw, f"train_rl@{phase}", _Phase).iterations
    ]
    return [
        iteration.model_copy(update={"phase": phase, "iteration": number})
        for number, (phase, iteration) in enumerate(merged, start=1)
    ]


def _rewarding_judge(raw: dict[str, dict[str, Any]]) -> LabelledVerdicts | None:
    """Of the last phase that measured it: a phase of 0 iterations does not. Both measure the judge on the same labels,
    unless a label came in between."""
    phases = [_parse(raw, f"train_rl@{phase}", _Phase) for phase in reversed(PHASES)]
    return next((phase.judge_verdicts for phase in phases if phase.judge_verdicts is not None), None)


def _loss(path: Path) -> list[tuple[float, float]]:
    with path.open(newline="") as file:
        return [(float(row["step"]), float(row["loss"])) for row in csv.DictReader(file)]
