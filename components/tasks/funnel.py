"""Funnels: ordered steps with the items that each dropped."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from components.records import Record

EXAMPLES = 3
"""Number of dropped items that a step names."""
SELECTION = "selection_"
"""Prefix of the figures of an RL iteration that tell its selection from the attempts."""


class FunnelStep(Record):
    """One step: the number of dropped items, the number of those left, and the first few dropped items."""

    step: str
    dropped: int
    left: int
    examples: list[str] = Field(default_factory=list)


class Funnel(Record):
    """The steps in order; each begins with the items that the one before it left."""

    total: int
    steps: list[FunnelStep] = Field(default_factory=list)

    @property
    def left(self) -> int:
        """The number of items after all steps."""
        return self.steps[-1].left if self.steps else self.total

    def then(self, step: str, dropped: Sequence[str]) -> Funnel:
        """This funnel and one more step; `dropped` names all dropped items."""
        added = FunnelStep(
            step=step, dropped=len(dropped), left=self.left - len(dropped), examples=list(dropped[:EXAMPLES])
        )
        return Funnel(total=self.total, steps=[*self.steps, added])

    def figures(self) -> dict[str, float]:
        """Figures of an RL iteration: `selection_attempts`, the number that each step dropped, `selection_chosen`."""
        dropped = {step.step.replace("'", "").replace(" ", "_"): step.dropped for step in self.steps}
        counts = {"attempts": self.total, **dropped, "chosen": self.left}
        return {f"{SELECTION}{name}": float(count) for name, count in counts.items()}

    def rows(self) -> list[dict]:
        """The steps as plain rows `{step, dropped, left, examples}`, with the initial total as the first row, for
        reports."""
        first = FunnelStep(step="all", dropped=0, left=self.total)
        return [step.model_dump() for step in [first, *self.steps]]
