"""The section of filtered behaviour cloning."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import override

from components.params.objectives.base import OnlineParams, SampledRound
from components.params.section import Rounds


class FilteredBCParams(OnlineParams):
    """WebGym, section 5.1."""

    name: Literal["filtered_bc"] = "filtered_bc"
    """Filtered behaviour cloning."""
    epochs: Rounds = Field(default=2, gt=0)
    """Passes over an iteration's turns."""
    drop_repeats: bool = True
    """Leave out turns after which the screenshot did not change (WebGym, section 5.2)."""

    @property
    @override
    def passes(self) -> int:
        return self.epochs

    @override
    def trained_trajectories(self, sampled: SampledRound) -> float:
        """Expected number of trajectories that an update trains on: the successes."""
        return sampled.successes


KIND = FilteredBCParams
