"""The parameters of the objective."""

from __future__ import annotations

from typing import ClassVar, Literal

from components.params import OnlineParams


class MeanBaselineParams(OnlineParams):
    """REINFORCE with the group's mean as the baseline."""

    objective_class: ClassVar[str] = "waymark_baselines.mean_baseline:MeanBaseline"
    name: Literal["mean_baseline"] = "mean_baseline"


KIND = MeanBaselineParams
