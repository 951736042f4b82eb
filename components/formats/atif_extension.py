"""What a trajectory of ours has beyond ATIF: it stands under the key `waymark` of ATIF's `extra` objects.

With it, reading what was written gives the same trajectory, without diagnostics. Other readers of ATIF ignore it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import Field

from components.records import (
    BranchPoint,
    Ending,
    Record,
    StateCheck,
    Tab,
    Task,
    Termination,
    Text,
    Trajectory,
    Turn,
    Verdict,
)

KEY = "waymark"
R = TypeVar("R", bound=Record)


class TrajectoryExtension(Record):
    """Of the document."""

    task: Task
    attempt: int
    policy: str
    protocol: str
    seed: int
    termination: Termination
    answer: Text | None
    site_reward: float | None
    late_actions: int | None
    ending: Ending | None
    state_check: StateCheck | None
    branch_of: BranchPoint | None = None
    verdict: Verdict | None

    @classmethod
    def of(cls, trajectory: Trajectory, verdict: Verdict | None) -> TrajectoryExtension:
        """The fields of a trajectory that ATIF does not have, and its verdict."""
        fields = trajectory.model_dump(include=cls.model_fields.keys() - {"verdict"})
        return cls.model_validate(fields | {"verdict": verdict})


class StepExtension(Record):
    """Of a step of the agent."""

    index: int
    prompt_sha256: str
    finish_reason: Literal["stop", "length"]
    parse_error: Text | None
    timings: dict[str, float]

    @classmethod
    def of(cls, turn: Turn) -> StepExtension:
        """The fields of a turn that ATIF does not have."""
        return cls.model_validate(turn.model_dump(include={*cls.model_fields}))


class PageExtension(Record):
    """Of a result that is a page: what the agent saw next. `is_final` marks the page after the last turn, of which only
    the image was recorded."""

    url: Text = ""
    tabs: list[Tab] = Field(default_factory=list)
    viewport: tuple[int, int] = (0, 0)
    is_final: bool = False


class CallExtension(Record):
    """Of a call that could not be parsed."""

    error: Text


def extension(record: Record) -> dict[str, Any]:
    """The `extra` of a record of ATIF."""
    return {KEY: record.model_dump(mode="json")}


def extended(extra: dict[str, Any] | None, kind: type[R]) -> R | None:
    """Our part of an `extra`; None if there is none.

    Raises:
        ValidationError: it is no such record.
    """
    return kind.model_validate(extra[KEY]) if extra is not None and KEY in extra else None
