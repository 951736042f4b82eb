"""M-GRPO: multi-turn GRPO (WebAgent-R1, section 2.3).

    loss = - 1/G sum_i 1/|tau_i| sum_j 1/|a_ij| sum_k [ min(rho A_i, clip(rho, 1 - low, 1 + high) A_i) - beta D_KL ]
    D_KL = exp(log pi_ref - log pi) - (log pi_ref - log pi) - 1          per token, never negative (`surrogate.with_kl`)

A_i and rho are those of MM-GRPO; the paper clips at 0.2 on both sides and has beta = 0.001. The reference is the policy
with which the phase began, unless `rl.objective.reference` names SFT's. The factor 1/|tau_i| gives every trajectory the
same weight, so the turns of long ones count less.

Deviations: An optimiser step that holds some turns of a trajectory counts it by their share of 1/|tau_i|, and divides
by the sum of these shares instead of G; over a whole batch both are the same. The estimate of the KL is linear far
below the reference (`rl.objective.kl_linear_from`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

from typing_extensions import override

from components.params import MGRPOParams, Params
from components.training.objectives.group_relative import GroupRelative


@dataclass(frozen=True)
class MGRPO(GroupRelative):
    """The clipped surrogate with a KL to the reference; every trajectory weighs the same."""

    name: ClassVar[str] = "m_grpo"
    params: MGRPOParams = field(default_factory=MGRPOParams)

    @classmethod
    @override
    def from_params(cls, params: Params) -> Self:
        section = params.rl.objective
        assert isinstance(section, MGRPOParams)
        return cls(section)

    @override
    def turn_weight(self, turns: int) -> float:
        return 1 / turns


KIND = MGRPO
