"""What the stages wrote down, read back typed: `reports/stages/*.json` and the loss curves.

A stage may write more than is read here; what is read here must be there.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from components.evaluation.errors import EvaluationError
from components.evaluation.metrics import SuccessSummary
from components.judge.calibration import Calibration

POLICIES = ("base", "sft", "rl")
PHASES = ("short", "long")
OUTSIDE = {"pretrain_base", "nightly", "leaderboard", "report"}
"""Stages that are no part of a run's account: made once and frozen, run on a schedule, and the reports themselves."""
BENCHMARK = "benchmark@"
"""What the names of benchmark runs begin with, which are no part of it either."""

Number = Annotated[
    float | None, BeforeValidator(lambda value: None if isinstance(value, float) and math.isnan(value) else value)
]
"""A measurement; None where there was nothing to measure (an iteration without an update has no clip fraction)."""


class Written(BaseModel):
    """A part of a stage's JSON; other keys are the stage's own business."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Collected(Written):
    collected: int
    rejected: int
    train: int
    eval: int
    heldout: int


class FunnelStep(Written):
    step: str
    dropped: int
    left: int


class Filtered(Written):
    kept: int
    funnel: list[FunnelStep]


class Deduplicated(Written):
    sft: int
    rl: int


class Curated(Written):
    """The demonstrations that SFT learns from; the funnel is of the teacher's attempts."""

    trajectories: int
    websites: int
    funnel: list[FunnelStep]


class Confusion(Written):
    """Held-out trajectories by label and verdict; a success is the positive class."""

    tp: int
    fp: int
    tn: int
    fn: int


class JudgeAgreement(Written):
    n: int
    accuracy: float
    precision: float
    recall: float
    f1: float
    majority_accuracy: float
    untrained_accuracy: float
    confusion: Confusion
    calibration: list[Calibration] = []
    """The base, the distilled judge and its vote on the same trajectories, with intervals."""


class RLIteration(Written):
    """One RL iteration, numbered through both phases. Times are seconds, `logprob_gap_max` is nats. `selection` is the
    funnel of a round of rejection fine-tuning: the attempts, how many each step dropped, and the chosen."""

    iteration: int = 0
    phase: str = ""
    reward_mean: Number = None
    pool_reward: Number = None
    effective_groups: int
    sampled_groups: int
    ratio_mean: Number = None
    clip_fraction: Number = None
    logprob_gap_max: Number = None
    turns_mean: Number = None
    response_tokens_mean: Number = None
    rollout_s: Number = None
    train_s: Number = None
    selection: dict[str, int] = {}

    @model_validator(mode="before")
    @classmethod
    def _funnel(cls, figures: dict[str, Any]) -> dict[str, Any]:
        selection = {name.removeprefix("rft_"): value for name, value in figures.items() if name.startswith("rft_")}
        return figures | ({"selection": selection} if selection else {})


class StageResults(Written):
    """All that the report takes from the stages. `wall_s` is seconds per stage, `spans` when stages were at work,
    `pipelines` the pipeline run that each stage's result was made in."""

    wall_s: dict[str, float]
    pipelines: dict[str, str]
    spans: list[tuple[float, float]]
    collected: Collected
    filtered: Filtered
    dedup: Deduplicated
    curated: Curated
    judge: JudgeAgreement
    iterations: list[RLIteration]
    success: dict[str, SuccessSummary]
    losses: dict[str, list[tuple[float, float]]]
    """(step, loss) of the supervised trainings."""


def read_results(stages: Path, curves: Path) -> StageResults:
    """Read `reports/stages` and `reports/curves`.

    Raises:
        EvaluationError: a stage has no result yet, or its result lacks a number that the report needs.
    """
    raw = {
        path.stem: json.loads(path.read_text())
        for path in sorted(stages.glob("*.json"))
        if path.stem not in OUTSIDE and not path.stem.startswith(BENCHMARK)
    }
    return StageResults(
        wall_s={name: float(value["wall_s"]) for name, value in raw.items() if "wall_s" in value},
        pipelines={name: str(value.get("pipeline", "")) for name, value in raw.items()},
        spans=[(begin, end) for value in raw.values() for begin, end in value.get("spans", [])],
        collected=_parse(raw, "collect_tasks", Collected),
        filtered=_parse(raw, "filter_tasks", Filtered),
        dedup=_parse(raw, "dedup_tasks", Deduplicated),
        curated=_parse(raw, "curate_sft", Curated),
        judge=_parse(raw, "distill_judge", JudgeAgreement),
        iterations=_iterations(raw),
        success={name: _summary(raw, name) for name in POLICIES},
        losses={name: _loss(curves / f"{name}.csv") for name in ("sft", "judge") if (curves / f"{name}.csv").exists()},
    )


W = TypeVar("W", bound=BaseModel)


def _parse(raw: dict[str, dict[str, Any]], stage: str, kind: type[W]) -> W:
    if stage not in raw:
        raise EvaluationError(f"stage {stage} has no result yet; run `dvc repro {stage}`")
    try:
        return kind.model_validate(raw[stage])
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, detail["loc"])) for detail in error.errors())
        raise EvaluationError(
            f"the result of stage {stage} cannot be reported ({fields}); run `dvc repro --force {stage}`"
        ) from error


def _summary(raw: dict[str, dict[str, Any]], policy: str) -> SuccessSummary:
    stage = f"evaluate@{policy}"
    known = {name: value for name, value in raw.get(stage, {}).items() if name in SuccessSummary.model_fields}
    return _parse({stage: known} if known else {}, stage, SuccessSummary)


class _Phase(Written):
    iterations: list[RLIteration]


def _iterations(raw: dict[str, dict[str, Any]]) -> list[RLIteration]:
    """Both phases in order, numbered through from 1."""
    merged = [(phase, one) for phase in PHASES for one in _parse(raw, f"train_rl@{phase}", _Phase).iterations]
    return [
        one.model_copy(update={"phase": phase, "iteration": number})
        for number, (phase, one) in enumerate(merged, start=1)
    ]


def _loss(path: Path) -> list[tuple[float, float]]:
    with path.open(newline="") as file:
        return [(float(row["step"]), float(row["loss"])) for row in csv.DictReader(file)]
