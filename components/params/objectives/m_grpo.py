"""The section of M-GRPO."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import override

from components.params.objectives.base import PolicyGradientParams


class MGRPOParams(PolicyGradientParams):
    """WebAgent-R1, section 2.3."""

    name: Literal["m_grpo"] = "m_grpo"
    """M-GRPO."""
    clip_high: float = Field(default=0.2, gt=0)
    """As in `mm_grpo`."""
    kl: float = Field(default=0.001, ge=0)
    """beta: the weight of the KL to the policy at the start of the phase, or to the one that `reference` names. With 0,
    no copy of that policy is kept. Above 0, `rl.top_p` must be 1."""

    @property
    @override
    def needs_reference(self) -> bool:
        return self.kl > 0


KIND = MGRPOParams
