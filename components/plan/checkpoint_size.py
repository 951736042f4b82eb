"""What the checkpoints of RL write: how many a phase has, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass

from components.params import Params, RLPhase

WEIGHT_BYTES = 4
"""Bytes of a trained weight in a checkpoint, and of each copy of it. Adapters and mixed precision are float32, too."""
OPTIMISER_BYTES = 8
"""Bytes of AdamW's two moments of a trained parameter."""


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints that a phase writes; most are deleted again (`rl.checkpoints.keep`).

    Attributes:
        each: bytes of one.
    """

    phase: str
    number: int
    each: int

    @property
    def bytes(self) -> int:
        """All that is written."""
        return self.number * self.each


def checkpoints(params: Params, name: str, phase: RLPhase, trained: int) -> Checkpoints:
    """The checkpoints of a phase (`training.rl.Loop`): after every `rl.checkpoints.every`-th iteration, after the last
    one, and of each policy that is validated, so that the one with which the phase began has one, too.

    Args:
        trained: number of trained parameters.
    """
    rl = params.rl
    due = {number for number in range(1, phase.iterations + 1) if number % rl.checkpoints.every == 0}
    if phase.iterations:
        due.add(phase.iterations)
        if rl.validation.every:
            due |= {*range(0, phase.iterations + 1, rl.validation.every)}
    return Checkpoints(name, len(due), checkpoint_bytes(params, trained))


def checkpoint_bytes(params: Params, trained: int) -> int:
    """Bytes of a checkpoint: the trained weights, the optimiser, earlier weights (`rl.max_staleness`), and a reference
    that moves. That of an iteration without an update before it is smaller, which is not counted. A round of rejection
    fine-tuning has an optimiser of its own, which ends with it."""
    copies = 1 + params.rl.max_staleness + (params.rl.objective.reference_decay is not None)
    optimiser = 0 if params.rl.objective.trains_as_sft else OPTIMISER_BYTES
    return (copies * WEIGHT_BYTES + optimiser) * trained


def carries_optimiser(params: Params) -> bool:
    """Whether a phase of RL leaves its optimiser to the next one."""
    return params.rl.carry_optimizer and not params.rl.objective.trains_as_sft
