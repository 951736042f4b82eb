"""No two updates of a run have the same seed, in whatever phase they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from components.rollout import Group
from components.training.learner import Learner
from components.training.objectives import UpdateContext, UpdateStats
from components.training.objectives.interface import NO_UPDATE
from components.training.objectives.rft import RFT
from components.training.workers import SINGLE_PROCESS
from tests.samples import recipe
from tests.vlm import random_vlm


@dataclass(frozen=True)
class Recording(RFT):
    """An objective that changes nothing and keeps the seeds of its updates."""

    seeds: list[int] = field(default_factory=list)

    def update(self, context: UpdateContext, groups: Sequence[Group]) -> UpdateStats:
        self.seeds.append(context.seed)
        return NO_UPDATE


def test_the_long_phase_has_the_seeds_after_those_of_the_short_one(tmp_path: Path):
    random_vlm().publish(tmp_path / "model", {})
    objective = Recording()
    params = recipe(rl__short__iterations=3, rl__long__iterations=2)
    for phase, updates in (("short", 3), ("long", 2)):
        learner = Learner.load_model(SINGLE_PROCESS, tmp_path / "model", params, phase)
        learner.objective = objective
        for number in range(1, updates + 1):
            learner.update([], number)
    first = objective.seeds[0]
    assert objective.seeds == [first + offset for offset in range(5)]
