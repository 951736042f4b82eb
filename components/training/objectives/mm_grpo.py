"""MM-GRPO: multimodal multi-turn GRPO (OpenWebRL, section 4.4).

    A_i  = (r_i - mean r) / (std r + 1e-6)        over the scored members of the group, sample std (ddof 1)
    loss = - 1/N  sum_i sum_t 1/|y_it|  sum_k  min(rho A_i, clip(rho, 1 - low, 1 + high) A_i)
    rho  = exp(log pi(y_itk) - log pi_old(y_itk)) against the rollout's own log-probabilities

N is the number of turn samples in the optimiser step: tokens are averaged inside a turn, every turn counts the same,
and there is no factor 1/|tau| per trajectory, which would weaken long ones. There is no entropy term, and by default no
KL. Masked members take part in neither the statistics nor the loss.

Deviations, and what the paper leaves open:

- The formula is missing from the paper's text; this is our reading of the text around it, and tests hold it to tables
  computed by hand.
- A member that a judge's time-out or the environment masks is left out of the group's mean and deviation, too. The
  paper says only that it is masked.
- An epoch has the whole number of steps that makes them nearest to `rl.batch_turns`, and drops no turn.
- `tis_cap`, which the recipes for vLLM in bfloat16 set, weighs tokens by the gap between server and trainer.
- The vision tower is frozen in RL as in SFT (`model.train_vision`), and weight decay applies to all trained parameters,
  norms among them.
- `dual_clip`, `advantage_std`, `kl`, `replay`, `rl.action_cost`, `rl.extra_attempts` and `rl.branches`
  (`objectives.branches`) are off by default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

from typing_extensions import override

from components.params import MMGRPOParams, Params
from components.training.objectives.group_relative import GroupRelative
from components.training.objectives.policy_gradient import Replay


@dataclass(frozen=True)
class MMGRPO(GroupRelative):
    """The clipped surrogate with advantages within groups; every turn weighs the same."""

    name: ClassVar[str] = "mm_grpo"
    params: MMGRPOParams = field(default_factory=MMGRPOParams)

    @classmethod
    @override
    def from_params(cls, params: Params) -> Self:
        section = params.rl.objective
        assert isinstance(section, MMGRPOParams)
        return cls(section)

    @property
    @override
    def replay(self) -> Replay | None:
        return Replay(self.params.replay, self.params.replay_turns) if self.params.replay else None

    @override
    def turn_weight(self, turns: int) -> float:
        return 1.0


KIND = MMGRPO
