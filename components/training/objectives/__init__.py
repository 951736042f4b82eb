"""What is minimised, one file per objective: its formula, its paper, its deviations.

`mm_grpo` (OpenWebRL), `m_grpo` (WebAgent-R1) and `filtered_bc` (WebGym) are online: `rl.objective`. `rft`
(BrowserAgent) selects what supervised training learns from; its loss, and that of judge distillation (`judge`), is
`sft`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from components.params import RLParams
from components.rollout import Group
from components.training.objectives import filtered_bc, m_grpo, mm_grpo
from components.training.objectives.surrogate import Credit, TokenStats, TurnTokens, truncated

__all__ = ["OBJECTIVES", "Credit", "Objective", "TokenStats", "TurnTokens", "truncated"]


@dataclass(frozen=True)
class Objective:
    """An online objective.

    The loss of an optimiser step is the mean of its turns' losses by their weights: however the step is cut into
    micro-batches or spread over processes, it is the same.
    """

    assign_credit: Callable[[Group, RLParams], list[list[Credit | None]]]
    turn_loss: Callable[[TurnTokens, float, RLParams], tuple[torch.Tensor, TokenStats]]
    needs_spread: bool = True
    """Whether a group teaches only if its rewards differ; else one success is enough."""
    needs_reference: bool = False


OBJECTIVES = {
    "mm_grpo": Objective(mm_grpo.assign_credit, mm_grpo.turn_loss),
    "m_grpo": Objective(m_grpo.assign_credit, m_grpo.turn_loss, needs_reference=True),
    "filtered_bc": Objective(filtered_bc.assign_credit, filtered_bc.turn_loss, needs_spread=False),
}
