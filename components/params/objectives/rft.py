"""The section of rejection fine-tuning."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from components.params.objectives.base import ObjectiveParams, SampledRound
from components.params.section import Rounds


class RFTParams(ObjectiveParams):
    """Rejection fine-tuning (BrowserAgent, sections 2.4 and B.5): an iteration is a round."""

    may_be_stale: ClassVar[bool] = False
    """False, because a round begins with the model of the round before it."""
    may_branch: ClassVar[bool] = False
    """False, because it learns from whole attempts."""
    trains_as_sft: ClassVar[bool] = True
    """True, because a round is supervised training."""
    trained_label: ClassVar[str] = "after RFT"
    """By the paper's name of this training."""
    name: Literal["rft"] = "rft"
    """Rejection fine-tuning."""
    epochs: Rounds = Field(default=2, gt=0)
    """Passes over the trajectories of a round."""
    demonstrations: float = Field(default=0.8, ge=0, le=1)
    """Share of the SFT demonstrations that is added to the data of a round."""
    max_per_source: dict[str, Annotated[int, Field(ge=0)]] | None = None
    """Maximum number of questions per source in a round. The name of a source is the stem of its task file. The paper
    has 400 of NQ and 673 of HotpotQA. A source without an entry has no maximum; null sets none."""

    @property
    @override
    def passes(self) -> int:
        return self.epochs

    @override
    def trained_trajectories(self, sampled: SampledRound) -> float:
        """Expected number of trajectories that a round trains on: one of each effective group, and demonstrations."""
        return sampled.effective_groups + self.demonstrations * sampled.demonstrations


KIND = RFTParams
