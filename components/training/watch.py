"""Watches a phase of RL: validates its policy when the recipe says so, and reports the families that fall.

A validation that a kill interrupts goes on with its finished episodes, and a finished one is never repeated: its record
is in a journal of the state directory. What the rollouts contribute is in the checkpoint (`validation.FamilyTally`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from components.judge import needs_judge
from components.params import RLPhase
from components.store import Journal
from components.training.divergence import kl_by_family
from components.training.falls import falls
from components.training.learner import Learner
from components.training.rl_rollouts import IterationRollouts, RolloutQueue, ValidationSetup
from components.training.stalls import stalls
from components.training.validation import FamilyTally, Validation, validation
from components.training.workers import Replicas

VALIDATIONS = "validations.jsonl"

ReportValidation = Callable[[Validation, list[str]], None]
"""Gets a validation, and a warning per family that falls or stalls; after a crash the last finished one again."""


@dataclass(frozen=True)
class Watch:
    """The validations of one phase."""

    learners: Replicas[Learner]
    phase: RLPhase
    state_dir: Path
    setup: ValidationSetup | None
    """None: the phase is not validated."""
    report: ReportValidation

    def is_due(self, iteration: int, is_last: bool = False) -> bool:
        """Whether the policy after an iteration is validated.

        Args:
            is_last: the phase ends early with it.
        """
        every = self.learners.local.params.rl.validation.every
        if self.setup is None or not every or not self.phase.iterations:
            return False
        return iteration % every == 0 or iteration == self.phase.iterations or is_last

    @property
    def planned(self) -> int:
        """The number of validations of the whole phase."""
        return sum(self.is_due(iteration) for iteration in range(self.phase.iterations + 1))

    def records(self, until: int) -> list[Validation]:
        """The validations after at most `until` iterations, in order."""
        if self.setup is None:
            return []
        with Journal(self.state_dir / VALIDATIONS, Validation) as journal:
            return sorted((v for v in journal.records if v.iteration <= until), key=lambda v: v.iteration)

    def divergence(self, number: int, rollouts: IterationRollouts) -> dict[str, tuple[float, int]]:
        """By family the KL of the rollouts' policy to the SFT policy, summed in nats, and the number of tokens. It is
        measured in the iterations after which the policy is validated, before their update; else it is empty."""
        if self.setup is None or not self.is_due(number):
            return {}
        trajectories = [t for group in rollouts.sampled.groups for t in group.trajectories]
        return self.learners.run(kl_by_family, trajectories, self.setup.sft)

    async def validate(self, iteration: int, tallies: Mapping[str, FamilyTally], queue: RolloutQueue) -> None:
        """Validate the policy as it is now, unless that is done, and report.

        Raises:
            NothingValidated: no episode on a trained family could be judged.
        """
        assert self.setup is not None
        if all(record.iteration != iteration for record in self.records(iteration)):
            began = time.monotonic()
            trajectories = await queue.validate(iteration, self.setup.tasks)
            verdicts = await self.setup.judge([t for t in trajectories if needs_judge(t)])
            record = validation(iteration, trajectories, verdicts, tallies, time.monotonic() - began)
            with Journal(self.state_dir / VALIDATIONS, Validation) as journal:
                journal.append(record)
        queue.validation_path(iteration).unlink(missing_ok=True)
        records = self.records(iteration)
        self.report(records[-1], list(map(str, [*falls(records, self.planned), *stalls(records[-1])])))


def kl_figure(kl: Mapping[str, tuple[float, int]]) -> dict[str, float]:
    """`kl_sft` over all families, in nats per sampled token; empty if it was not measured."""
    nats, tokens = (sum(values) for values in zip(*kl.values(), strict=True)) if kl else (0.0, 0)
    return {"kl_sft": round(nats / tokens, 8)} if tokens else {}
