"""The section of MM-GRPO."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from components.params.dependence import NotWith
from components.params.objectives.base import PolicyGradientParams


class MMGRPOParams(PolicyGradientParams):
    """OpenWebRL, section 4.4 and table 7."""

    name: Literal["mm_grpo"] = "mm_grpo"
    """MM-GRPO."""
    clip_high: float = Field(default=0.28, gt=0)
    """ε_high: a ratio of probabilities above 1 + ε_high has no gradient for a token whose advantage is positive."""
    kl: float = Field(default=0.0, ge=0)
    """beta: the weight of a KL to the policy at the start of the phase, which is the SFT policy in the first phase, or
    to the one that `reference` names. The paper has none. With 0, no copy of that policy is kept. Above 0, `rl.top_p`
    must be 1."""
    replay: float = Field(default=0.0, ge=0)
    """Weight of the loss of SFT (nats per token) on demonstrations, which is added to the loss of each step, against
    forgetting (Ouyang et al. 2022, "Training language models to follow instructions with human feedback", section 3.5,
    mix pre-training gradients into PPO in this way). With 0, no demonstration is read."""
    replay_turns: Annotated[int, NotWith("replay", 0)] = Field(default=16, gt=0)
    """With `replay`: turns of demonstrations per optimiser step. The seed, the iteration and the step decide the draw;
    the iterations of the long phase count on from those of the short one."""

    @property
    @override
    def needs_reference(self) -> bool:
        return self.kl > 0


KIND = MMGRPOParams
