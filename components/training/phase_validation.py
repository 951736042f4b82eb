"""Watches a phase of RL: validates its policy when the recipe says so, and reports what falls.

A validation that a kill interrupts goes on with its finished episodes, and a finished one is never repeated: its record
is in a journal of the state directory, with its warnings. What the rollouts contribute is in the checkpoint
(`validation.FamilyTally`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from components.journal import Journal
from components.judge import needs_judge
from components.params import RLPhase
from components.training.divergence import drawn_turns, kl_by_family
from components.training.fall_warnings import Comparisons, falls, limits_of_warnings
from components.training.learner import Learner
from components.training.rl_rollouts import IterationRollouts, RolloutQueue, ValidationSetup
from components.training.stalls import stalls
from components.training.validation import FamilyTally, Validation, ValidationWarning, validation
from components.training.workers import Replicas

VALIDATIONS = "validations.jsonl"

ReportValidation = Callable[[list[Validation]], None]
"""Gets the validations of the phase until now, the newest one last, each with its warnings. After a crash it gets those
until the last finished one again. Called in a thread of a pool."""


@dataclass(frozen=True)
class PhaseValidations:
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
        params = self.learners.local.params.rl.validation
        if self.setup is None or not params.planned(self.phase.iterations):
            return False
        return params.is_due(iteration, self.phase.iterations) or is_last

    @property
    def planned(self) -> int:
        """The number of validations of the whole phase."""
        params = self.learners.local.params.rl.validation
        return params.planned(self.phase.iterations) if self.setup is not None else 0

    @property
    def limits(self) -> str | None:
        """Which falls no warning can name, because there are too few validation tasks; None if there are enough."""
        if self.setup is None or not self.planned:
            return None
        return limits_of_warnings(self.setup.tasks, Comparisons(self.planned, self.setup.earlier is not None))

    def records(self, until: int) -> list[Validation]:
        """The validations after at most `until` iterations, in order."""
        if self.setup is None:
            return []
        with Journal(self.state_dir / VALIDATIONS, Validation) as journal:
            return sorted((v for v in journal.records if v.iteration <= until), key=lambda v: v.iteration)

    def divergence(
        self, number: int, rollouts: IterationRollouts, is_last: bool = False
    ) -> dict[str, tuple[float, int]]:
        """By family the KL of the policy to the SFT policy at the rollouts' tokens, summed in nats, and their number.

        It is measured in the iterations after which the policy is validated, before their update; else it is empty.

        Args:
            is_last: the phase ends early with this iteration.
        """
        if self.setup is None or not self.is_due(number, is_last):
            return {}
        trajectories = [t for group in rollouts.sampled.groups for t in group.trajectories]
        drawn = drawn_turns(trajectories, self.learners.local.params.seed)
        return self.learners.run(kl_by_family, drawn, self.setup.sft)

    async def validate(self, iteration: int, tallies: Mapping[str, FamilyTally], queue: RolloutQueue) -> float:
        """Validate the policy as it is now, unless that is done, and report.

        Returns:
            The seconds for which it waited for rollouts of a later iteration first; they are no time of validation.

        Raises:
            NothingValidated: no episode on a trained family could be judged.
        """
        assert self.setup is not None
        before, waited_s = self.records(iteration), 0.0
        if all(record.iteration != iteration for record in before):
            waited_s = await queue.finish_running()
            began = time.monotonic()
            trajectories = await queue.validate(iteration, self.setup.tasks)
            verdicts = await self.setup.judge([t for t in trajectories if needs_judge(t)])
            record = validation(iteration, trajectories, verdicts, tallies, time.monotonic() - began)
            record = record.model_copy(update={"warnings": self._warnings([*before, record])})
            with Journal(self.state_dir / VALIDATIONS, Validation) as journal:
                journal.append(record)
        queue.validation_path(iteration).unlink(missing_ok=True)
        await asyncio.to_thread(self.report, self.records(iteration))
        return waited_s

    def _warnings(self, records: list[Validation]) -> list[ValidationWarning]:
        """What the newest of the validations warns of."""
        assert self.setup is not None
        fallen = [ValidationWarning(name=f.name, text=str(f)) for f in falls(records, self.planned, self.setup.earlier)]
        return fallen + [ValidationWarning(name=stall.family, text=str(stall)) for stall in stalls(records[-1])]


def kl_figure(kl: Mapping[str, tuple[float, int]]) -> dict[str, float]:
    """`kl_sft` over all families, in nats per sampled token; empty if it was not measured."""
    nats, tokens = (sum(values) for values in zip(*kl.values(), strict=True)) if kl else (0.0, 0)
    return {"kl_sft": round(nats / tokens, 8)} if tokens else {}
