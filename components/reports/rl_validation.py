"""What was watched during RL: the validations of both phases, their families, and which policies were published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from pydantic import Field, model_validator

from components.reports.charts import LineChart, line_chart
from components.reports.stage_output import StageOutput
from components.statistics import Interval, SuccessRate


class ValidationRow(StageOutput):
    """One validation. Rates are shares of 1, `kl_sft` and `entropy` nats per token, times seconds."""

    iteration: int
    success: SuccessRate
    """On the trained families."""
    heldout: SuccessRate | None = None
    """On the held-out families; None without such tasks."""
    training_success: float | None = None
    effective_share: float | None = None
    entropy: float | None = None
    kl_sft: float | None = None
    seconds: float


class FamilyRow(StageOutput):
    """One family at one validation."""

    iteration: int
    family: str
    heldout: bool
    n: int
    rate: float | None
    wilson95: Interval | None
    groups: int = 0
    effective_groups: int = 0
    training_success: float | None = None
    entropy: float | None = None
    kl_sft: float | None = None


class WarningRow(StageOutput):
    """A warning of one validation; it names the family, or the families together."""

    iteration: int
    warning: str


class Published(StageOutput):
    """The policy that a phase published, and why."""

    iteration: int
    reason: str


class RollbackRow(StageOutput):
    """A phase went back after `iteration` to the policy of iteration `to`."""

    iteration: int
    to: int
    by_hand: bool


class CheckpointRow(StageOutput):
    """What writing one checkpoint took."""

    iteration: int
    seconds: float
    megabytes: float
    kept: bool


class WatchedPhase(StageOutput):
    """What the stage of one phase wrote besides its iterations. A phase that was not validated has no `validation`."""

    validation: list[ValidationRow] = Field(default_factory=list)
    families: list[FamilyRow] = Field(default_factory=list)
    warnings: list[WarningRow] | None = None
    """None in files of earlier versions."""
    limits_of_warnings: str | None = None
    """Which falls no warning could name, because there were too few validation tasks."""
    published: Published | None = None
    ended: str | None = None
    """Why the phase ended early."""
    rollbacks: list[RollbackRow] = Field(default_factory=list)
    checkpoints: list[CheckpointRow] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _earlier_versions(cls, values: Any) -> Any:
        """Reads files of earlier versions, too, in which rates and the ends of intervals are plain numbers."""
        if not isinstance(values, Mapping) or not isinstance(values.get("validation"), list):
            return values
        families = values.get("families", [])
        return {**values, "validation": [_with_records(row, families) for row in values["validation"]]}

    @property
    def kept_megabytes(self) -> float:
        """The size of the checkpoints that are still on disk."""
        return sum({row.iteration: row.megabytes for row in self.checkpoints if row.kept}.values())


def _with_records(row: Any, families: Any) -> Any:
    """A validation whose rates are records; the number of held-out tasks is that of its families."""
    if not isinstance(row, Mapping) or "success_low" not in row:
        return row
    success = {"rate": row.get("success"), "n": row.get("n"), "ci95": (row["success_low"], row.get("success_high"))}
    heldout = None
    if row.get("heldout_success") is not None:
        counts = [
            family.n
            for family in map(FamilyRow.model_validate, families)
            if family.heldout and family.iteration == row.get("iteration")
        ]
        interval = (row.get("heldout_low"), row.get("heldout_high"))
        heldout = {"rate": row["heldout_success"], "n": sum(counts), "ci95": interval}
    return {**row, "success": success, "heldout": heldout}


@dataclass(frozen=True)
class FamilyLine:
    """A family's validations in the order of the columns; None where the family was not validated."""

    family: str
    heldout: bool
    cells: list[FamilyRow | None]


def columns(phases: Mapping[str, WatchedPhase]) -> list[tuple[str, int]]:
    """Phase and iteration of every validation, in order."""
    return [(phase, row.iteration) for phase, watched in phases.items() for row in watched.validation]


def family_lines(phases: Mapping[str, WatchedPhase]) -> list[FamilyLine]:
    """A line per family: trained families first, each kind in alphabetical order."""
    cells = {
        (phase, row.iteration, row.heldout, row.family): row
        for phase, watched in phases.items()
        for row in watched.families
        if row.n
    }
    names = sorted({(heldout, family) for _, _, heldout, family in cells})
    places = columns(phases)
    return [
        FamilyLine(family, heldout, [cells.get((*place, heldout, family)) for place in places])
        for heldout, family in names
    ]


def validation_chart(phases: Mapping[str, WatchedPhase], iterations: Sequence[str]) -> LineChart | None:
    """Validation success beside training success, over the iterations of both phases.

    Args:
        phases: in order.
        iterations: the phase of each iteration, in order.
    """
    ends = accumulate(iterations.count(phase) for phase in phases)
    begins = dict(zip(phases, (0, *ends), strict=False))  # a phase without iterations begins and ends there
    rows = [(begins[phase] + row.iteration, row) for phase, watched in phases.items() for row in watched.validation]
    if not rows:
        return None
    x = [float(at) for at, _ in rows]
    lines: dict[str, list[float | None]] = {
        "validation": [row.success.rate for _, row in rows],
        "held-out families": [row.heldout.rate if row.heldout else None for _, row in rows],
        "training rollouts": [row.training_success for _, row in rows],
    }
    shown = {name: line for name, line in lines.items() if any(value is not None for value in line)}
    return line_chart("Success on validation tasks", x, shown, "greedy; training rollouts are sampled")
