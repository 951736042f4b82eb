"""What was watched during RL: the validations of both phases, their families, and which policies were published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pydantic import Field

from components.reports.charts import LineChart, line_chart
from components.reports.stage_output import StageOutput
from components.statistics import Interval


class ValidationRow(StageOutput):
    """One validation. Rates are shares of 1, `kl_sft` and `entropy` nats per token, times seconds."""

    iteration: int
    success: float
    success_low: float
    success_high: float
    n: int
    heldout_success: float | None = None
    heldout_low: float | None = None
    heldout_high: float | None = None
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
    """What the stage of one phase wrote besides its iterations; empty for a phase that was not validated."""

    validation: list[ValidationRow] = Field(default_factory=list)
    families: list[FamilyRow] = Field(default_factory=list)
    published: Published | None = None
    rollbacks: list[RollbackRow] = Field(default_factory=list)
    checkpoints: list[CheckpointRow] = Field(default_factory=list)

    @property
    def kept_megabytes(self) -> float:
        """The size of the checkpoints that are still on disk."""
        return sum({row.iteration: row.megabytes for row in self.checkpoints if row.kept}.values())


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
        "validation": [row.success for _, row in rows],
        "held-out families": [row.heldout_success for _, row in rows],
        "training rollouts": [row.training_success for _, row in rows],
    }
    shown = {name: line for name, line in lines.items() if any(value is not None for value in line)}
    return line_chart("Success on validation tasks", x, shown, "greedy; training rollouts are sampled")
