"""What went and why: the ordered steps from many to few."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from components.records import Record

EXAMPLES = 3
"""Dropped items that a step names."""


class FunnelStep(Record):
    """One step: how many it dropped, how many were left, and the first few that went."""

    step: str
    dropped: int
    left: int
    examples: list[str] = Field(default_factory=list)


class Funnel(Record):
    """The steps in order; each starts with what the one before it left."""

    total: int
    steps: list[FunnelStep] = Field(default_factory=list)

    @property
    def left(self) -> int:
        """How many came through."""
        return self.steps[-1].left if self.steps else self.total

    def then(self, step: str, dropped: Sequence[str]) -> Funnel:
        """This funnel and one more step; `dropped` names everything that went."""
        last = FunnelStep(
            step=step, dropped=len(dropped), left=self.left - len(dropped), examples=list(dropped[:EXAMPLES])
        )
        return Funnel(total=self.total, steps=[*self.steps, last])

    def rows(self) -> list[dict]:
        """The steps as plain rows `{step, dropped, left, examples}`, what there was at first on top, for reports."""
        first = FunnelStep(step="all", dropped=0, left=self.total)
        return [step.model_dump() for step in [first, *self.steps]]
