"""The section `rl.objective` of a recipe: one module per objective, whose `KIND` is its section (`components.plugins`).

The objectives are in `components/training/objectives`. Their sections are here, because reading a recipe must not
import torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from components.params.choice import Choice
from components.params.objectives.base import ObjectiveParams, OnlineParams, PolicyGradientParams, SampledRound
from components.params.objectives.filtered_bc import FilteredBCParams
from components.params.objectives.m_grpo import MGRPOParams
from components.params.objectives.mm_grpo import MMGRPOParams
from components.params.objectives.rft import RFTParams

__all__ = [
    "FilteredBCParams",
    "MGRPOParams",
    "MMGRPOParams",
    "Objective",
    "ObjectiveParams",
    "OnlineParams",
    "PolicyGradientParams",
    "RFTParams",
    "SampledRound",
    "objective_kind",
]

_CHOICE = Choice("name", default="mm_grpo", family="objectives")
Objective: TypeAlias = Annotated[ObjectiveParams, _CHOICE]


def objective_kind(keys: Mapping[str, Any]) -> type[ObjectiveParams]:
    """The section of the kind that `rl.objective` names, from its keys as YAML gives them.

    Raises:
        StopIteration: there is no such kind.
    """
    name = _CHOICE.kind_of(keys)
    return next(
        kind
        for kind in _CHOICE.kinds(ObjectiveParams)
        if issubclass(kind, ObjectiveParams) and kind.model_fields["name"].default == name
    )
