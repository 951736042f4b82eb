"""The sections of RL that watch a run: validation, and the checkpoints from which a policy is chosen."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from components.params.dependence import NotWith
from components.params.section import NoEffect, Section


class ValidationParams(Section):
    """Greedy evaluation during RL, on tasks that are neither trained on nor reported (split `validation`)."""

    every: int = Field(default=0, ge=0)
    """Iterations between two validations. The policy at the beginning and at the end of a phase is validated, too. 0
    validates never."""
    tasks: Annotated[int, NotWith("every", 0)] = Field(default=0, ge=0)
    """Validation tasks of the trained families, in equal shares. Decisions depend on these alone."""
    heldout: Annotated[int, NotWith("every", 0)] = Field(default=0, ge=0)
    """Validation tasks of the held-out families, on other pages than the reported ones. They are shown and decide
    nothing: a policy that is chosen by them has, in effect, been trained on these families."""

    def is_due(self, iteration: int, iterations: int) -> bool:
        """Whether the policy after an iteration is validated, in a phase of so many `iterations`."""
        return bool(self.every and iterations) and (iteration % self.every == 0 or iteration == iterations)

    def planned(self, iterations: int) -> int:
        """The number of validations in a phase of so many iterations."""
        return sum(self.is_due(iteration, iterations) for iteration in range(iterations + 1))

    @model_validator(mode="after")
    def _tasks_named(self) -> ValidationParams:
        if self.every and not self.tasks:
            raise ValueError("every asks for validations, but tasks = 0: set tasks to a number of tasks, or every to 0")
        return self


class CheckpointParams(Section):
    """Checkpoints of RL, from which a run goes on after a crash, and from which the published policy is chosen."""

    every: Annotated[int, NoEffect] = Field(default=1, gt=0)
    """Iterations between two checkpoints. After a crash, at most this many updates are computed again; their episodes
    are kept. The policy that is validated has a checkpoint, too."""
    keep: Annotated[int, NoEffect] = Field(default=1, gt=0)
    """Number of the newest checkpoints that are kept, for `waymark rl rollback`. The best by validation is kept beside
    them. A checkpoint holds the trained weights and the optimiser: about 12 bytes per trained parameter."""
    best: bool = True
    """Publish the policy with the highest validation success, if the interval of its paired difference to the last one
    lies above 0 (`components/training/selection.py`); else the last. false always publishes the last."""
    rollback: float | None = Field(default=None, gt=0, lt=1)
    """If validation success falls by more than this below the best of the phase, as a share of 1, and the interval of
    the paired difference lies below 0, policy and optimiser go back to the best, once per phase. null never goes
    back."""
